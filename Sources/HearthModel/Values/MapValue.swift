/// Fields by name. Keys are different when their UTF-8 bytes are, and are kept in the order of these bytes.
///
/// Access by key is logarithmic in the number of entries, insertion of a new key linear.
package struct MapValue: Sendable, ExpressibleByDictionaryLiteral {
  package struct Entry: Sendable {
    package let key: String
    package fileprivate(set) var value: Value
  }

  /// In UTF-8 order of the keys, which are unique.
  package private(set) var entries: [Entry]

  package init() {
    entries = []
  }

  package init(_ fields: [String: Value]) {
    self.init(entries: fields.map { ($0.key, $0.value) })
  }

  package init(dictionaryLiteral elements: (String, Value)...) {
    self.init(entries: elements)
  }

  /// The map of these entries; where a key occurs several times, the last one counts.
  package init(entries pairs: [(String, Value)]) {
    entries = []
    entries.reserveCapacity(pairs.count)
    var isSorted = true
    for (key, value) in pairs {
      if let last = entries.last, ByteOrder.compare(last.key, key) != .ascending { isSorted = false }
      entries.append(Entry(key: key, value: value))
    }
    if !isSorted { sortKeepingLast() }
  }

  /// Wraps entries that are in UTF-8 order of their keys, each key once.
  init(sortedEntries: [Entry]) {
    entries = sortedEntries
  }

  private mutating func sortKeepingLast() {
    let order = entries.indices.sorted { a, b in
      switch ByteOrder.compare(entries[a].key, entries[b].key) {
      case .ascending: true
      case .same: a < b
      case .descending: false
      }
    }
    var sorted: [Entry] = []
    sorted.reserveCapacity(entries.count)
    for index in order {
      if let last = sorted.last, ByteOrder.areEqual(last.key, entries[index].key) {
        sorted[sorted.count - 1] = entries[index]
      } else {
        sorted.append(entries[index])
      }
    }
    entries = sorted
  }

  package var count: Int { entries.count }

  package var isEmpty: Bool { entries.isEmpty }

  package var keys: [String] { entries.map(\.key) }

  package subscript(key: String) -> Value? {
    get {
      let (index, isFound) = position(of: key)
      return isFound ? entries[index].value : nil
    }
    set {
      let (index, isFound) = position(of: key)
      switch (newValue, isFound) {
      case (let value?, true): entries[index].value = value
      case (let value?, false): entries.insert(Entry(key: key, value: value), at: index)
      case (nil, true): entries.remove(at: index)
      case (nil, false): break
      }
    }
  }

  /// Changes the map under a key in place, without copying it. If the value is missing or not a map, `body` gets an empty map, which
  /// replaces it.
  mutating func changeMap(forKey key: String, _ body: (inout MapValue) -> Void) {
    var map = takeMap(forKey: key) ?? MapValue()
    body(&map)
    self[key] = .map(map)
  }

  /// Moves the map under a key to the caller and leaves null in its place, so that the caller has the only reference to it.
  private mutating func takeMap(forKey key: String) -> MapValue? {
    let (index, isFound) = position(of: key)
    guard isFound, case .map(let map) = entries[index].value else { return nil }
    entries[index].value = .null
    return map
  }

  /// The index of the key, or the index at which it would be inserted.
  private func position(of key: String) -> (index: Int, isFound: Bool) {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = low + (high - low) / 2
      switch ByteOrder.compare(entries[middle].key, key) {
      case .ascending: low = middle + 1
      case .same: return (middle, true)
      case .descending: high = middle
      }
    }
    return (low, false)
  }
}

extension MapValue: Hashable {
  package static func == (a: MapValue, b: MapValue) -> Bool {
    a.count == b.count
      && zip(a.entries, b.entries).allSatisfy { ByteOrder.areEqual($0.key, $1.key) && $0.value == $1.value }
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(count)
    for entry in entries {
      ByteOrder.hash(entry.key, into: &hasher)
      hasher.combine(entry.value)
    }
  }
}

extension MapValue {
  static let typeKey = "__type__"
  static let vectorType = "__vector__"
  static let vectorKey = "value"
  static let serverTimestampType = "server_timestamp"
  static let localWriteTimeKey = "__local_write_time__"
  static let previousValueKey = "__previous_value__"

  /// The value that the map is in encoded form: itself, or a server timestamp that is still to come.
  package var encodedValue: Value {
    guard case .string(let type)? = self[Self.typeKey], ByteOrder.areEqual(type, Self.serverTimestampType),
      case .timestamp(let time)? = self[Self.localWriteTimeKey]
    else { return .map(self) }
    return .pendingServerTimestamp(localWriteTime: time, previousValue: self[Self.previousValueKey])
  }

  /// True if the map says that it is a vector, whatever else it holds.
  package var isOfVectorType: Bool {
    guard case .string(let type)? = self[Self.typeKey] else { return false }
    return ByteOrder.areEqual(type, Self.vectorType)
  }

  /// The elements, if the map is a vector.
  var vectorArray: [Value]? {
    guard isOfVectorType, case .array(let elements)? = self[Self.vectorKey] else { return nil }
    return elements
  }
}
