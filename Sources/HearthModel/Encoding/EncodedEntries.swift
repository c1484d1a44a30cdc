/// The entries of a map field in their wire encoding, in their received order: the entries of a `MapValue`, or the fields of a `Document`.
struct EncodedEntries {
  let message: WireReader
  let field: Int

  struct Entry {
    var key: WireReader
    var value: WireReader
  }

  init(_ message: WireReader, field: Int) {
    self.message = message
    self.field = field
  }

  /// The encoded value of a key; of several entries with the key, the last one counts.
  func value(forKey key: String) throws(WireFormatError) -> WireReader? {
    try ByteOrder.withUTF8(of: key) { bytes in
      Result { () throws(WireFormatError) in try value(forKey: bytes) }
    }.get()
  }

  private func value(forKey key: UnsafeRawBufferPointer) throws(WireFormatError) -> WireReader? {
    var reader = message
    var result: WireReader?
    while true {
      if let entry = reader.nextPlainEntry(field: field) {
        if entry.keyEnd &- entry.keyStart == key.count,
          ByteOrder.compare(message.part(entry.keyStart, entry.keyEnd).remainingBytes, key) == .same
        {
          result = message.part(entry.valueStart, entry.valueEnd)
        }
      } else if let entry = try Self.next(field, &reader) {
        if ByteOrder.compare(entry.key.remainingBytes, key) == .same { result = entry.value }
      } else {
        return result
      }
    }
  }

  /// Calls `body` with every entry, also with those that a later one with the same key replaces.
  func forEach(_ body: (Entry) throws(WireFormatError) -> Void) throws(WireFormatError) {
    var reader = message
    while let entry = try Self.next(field, &reader) { try body(entry) }
  }

  /// The entries that count, in UTF-8 order of their keys.
  func sorted() throws(WireFormatError) -> [Entry] {
    var entries: [Entry] = []
    var isSorted = true
    var reader = message
    while let entry = try Self.next(field, &reader) {
      if let last = entries.last, Self.compareKeys(last, entry) != .ascending { isSorted = false }
      entries.append(entry)
    }
    return isSorted ? entries : Self.sortedKeepingLast(entries)
  }

  /// Returns whether both have the same keys with equal values. Only values whose bytes differ are built and compared.
  func holdsSameValues(as other: EncodedEntries) throws(WireFormatError) -> Bool {
    if let answer = try holdsSameValuesInOrder(as: other) { return answer }
    guard try !differsEarly(from: other) else { return false }
    let mine = try sorted()
    let theirs = try other.sorted()
    guard mine.count == theirs.count else { return false }
    for (a, b) in zip(mine, theirs) {
      guard Self.compareKeys(a, b) == .same, try Self.areValuesEqual(a, b) else { return false }
    }
    return true
  }

  /// The answer if both have the same keys in ascending order, as nearly all encoded documents do; nil in all other cases.
  private func holdsSameValuesInOrder(as other: EncodedEntries) throws(WireFormatError) -> Bool? {
    var mine = message
    var theirs = other.message
    var last: Entry?
    var areEqual = true
    while let a = try Self.next(field, &mine) {
      guard let b = try Self.next(other.field, &theirs), Self.compareKeys(a, b) == .same else { return nil }
      if let last, Self.compareKeys(last, a) != .ascending { return nil }
      last = a
      if areEqual { areEqual = try Self.areValuesEqual(a, b) }
    }
    return try Self.next(other.field, &theirs) == nil ? areEqual : nil
  }

  /// The entries that are looked up in the other ones before all are put in order.
  private static let probedCount = 16

  /// Looks for a difference in the first entries. Clients that send fields in any order mostly change one of a few, and a look-up costs less
  /// than putting both in order.
  ///
  /// - Returns: False if none was found.
  private func differsEarly(from other: EncodedEntries) throws(WireFormatError) -> Bool {
    var reader = message
    for _ in 0..<Self.probedCount {
      guard let entry = try Self.next(field, &reader) else { return false }
      let key = entry.key.remainingBytes
      guard let theirs = try other.value(forKey: key) else { return true }
      if ByteOrder.compare(entry.value.remainingBytes, theirs.remainingBytes) == .same { continue }
      // A later entry may have the same key.
      guard let mine = try value(forKey: key), try Self.areValuesEqual(mine, theirs) else { return true }
    }
    return false
  }

  private static func areValuesEqual(_ a: Entry, _ b: Entry) throws(WireFormatError) -> Bool {
    try areValuesEqual(a.value, b.value)
  }

  private static func areValuesEqual(_ a: WireReader, _ b: WireReader) throws(WireFormatError) -> Bool {
    if ByteOrder.compare(a.remainingBytes, b.remainingBytes) == .same { return true }
    return try EncodedValue(a).decoded() == EncodedValue(b).decoded()
  }

  private static func sortedKeepingLast(_ entries: [Entry]) -> [Entry] {
    let order = entries.indices.sorted { a, b in
      switch compareKeys(entries[a], entries[b]) {
      case .ascending: true
      case .same: a < b
      case .descending: false
      }
    }
    var sorted: [Entry] = []
    for index in order {
      if let last = sorted.last, compareKeys(last, entries[index]) == .same {
        sorted[sorted.count - 1] = entries[index]
      } else {
        sorted.append(entries[index])
      }
    }
    return sorted
  }

  private static func compareKeys(_ a: Entry, _ b: Entry) -> Ordering {
    ByteOrder.compare(a.key.remainingBytes, b.key.remainingBytes)
  }

  static func next(_ field: Int, _ reader: inout WireReader) throws(WireFormatError) -> Entry? {
    if let entry = reader.nextPlainEntry(field: field) {
      return Entry(
        key: reader.part(entry.keyStart, entry.keyEnd), value: reader.part(entry.valueStart, entry.valueEnd))
    }
    while let tag = try reader.readTag("map field") {
      if tag.field == field {
        try reader.require(.lengthDelimited, tag, "map entry")
        return try entry(reader.readMessage("map entry"))
      }
      try reader.skip(tag, "map field")
    }
    return nil
  }

  /// A missing key is the empty one, a missing value the message without fields, as for every protobuf map.
  private static func entry(_ message: WireReader) throws(WireFormatError) -> Entry {
    var reader = message
    let empty = WireReader(UnsafeRawBufferPointer(start: nil, count: 0))
    var entry = Entry(key: empty, value: empty)
    while let tag = try reader.readTag("map entry") {
      switch tag.field {
      case ValueField.entryKey:
        try reader.require(.lengthDelimited, tag, "map entry key")
        entry.key = try reader.readMessage("map entry key")
      case ValueField.entryValue:
        try reader.require(.lengthDelimited, tag, "map entry value")
        entry.value = try reader.readMessage("map entry value")
      default:
        try reader.skip(tag, "map entry")
      }
    }
    return entry
  }
}
