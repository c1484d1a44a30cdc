/// The entries of an encoded map, found once and kept in the order of their keys, for readers that need many of them.
///
/// Built in one pass if the keys are in order, as in nearly all encoded maps. A look-up is logarithmic, and constant if keys are requested
/// in order. The values stay parts of the encoding.
///
/// Does not own its bytes. An object belongs to one thread at a time.
package final class EncodedMapIndex {
  /// Offsets in the bytes of `message`.
  private struct Place {
    let keyStart: Int
    let keyEnd: Int
    let valueStart: Int
    let valueEnd: Int
  }

  private let message: WireReader
  private let places: [Place]
  /// The place where the next key is expected: after the one that was found last.
  private var next = 0

  /// The index of a map value's entries.
  package convenience init(mapIn message: WireReader) throws(WireFormatError) {
    try self.init(message, field: ValueField.mapEntries)
  }

  /// The index of a document's fields.
  package convenience init(fieldsIn message: WireReader) throws(WireFormatError) {
    try self.init(message, field: ValueField.documentFields)
  }

  private init(_ message: WireReader, field: Int) throws(WireFormatError) {
    self.message = message
    var places: [Place] = []
    places.reserveCapacity(12)
    var isSorted = true
    var reader = message
    while true {
      let place: Place
      if let entry = reader.nextPlainEntry(field: field) {
        place = Place(
          keyStart: entry.keyStart, keyEnd: entry.keyEnd, valueStart: entry.valueStart, valueEnd: entry.valueEnd)
      } else if let entry = try EncodedEntries.next(field, &reader) {
        place = Self.place(of: entry)
      } else {
        break
      }
      if let last = places.last, Self.compareKeys(message, last, place) != .ascending { isSorted = false }
      places.append(place)
    }
    self.places = isSorted ? places : Self.sortedKeepingLast(places, in: message)
  }

  /// The number of different keys.
  package var count: Int { places.count }

  /// The encoded value of a key; of several entries with the key, the last one counts.
  package func value(forKey key: String) -> WireReader? {
    ByteOrder.withUTF8(of: key) { bytes in
      if next < places.count, compare(places[next], bytes) == .same {
        next &+= 1
        return value(at: next &- 1)
      }
      var low = 0
      var high = places.count
      while low < high {
        let middle = low &+ (high &- low) / 2
        switch compare(places[middle], bytes) {
        case .ascending: low = middle &+ 1
        case .same:
          next = middle &+ 1
          return value(at: middle)
        case .descending: high = middle
        }
      }
      return nil
    }
  }

  /// The key at a position of the order.
  package func key(at position: Int) throws(WireFormatError) -> String {
    try message.part(places[position].keyStart, places[position].keyEnd).remainingString("map entry key")
  }

  /// The encoded value at a position of the order.
  package func value(at position: Int) -> WireReader {
    message.part(places[position].valueStart, places[position].valueEnd)
  }

  private func compare(_ place: Place, _ key: UnsafeRawBufferPointer) -> Ordering {
    ByteOrder.compare(message.part(place.keyStart, place.keyEnd).remainingBytes, key)
  }

  private static func compareKeys(_ message: WireReader, _ a: Place, _ b: Place) -> Ordering {
    ByteOrder.compare(
      message.part(a.keyStart, a.keyEnd).remainingBytes, message.part(b.keyStart, b.keyEnd).remainingBytes)
  }

  /// A missing part of an entry has no place in the bytes; it is the empty one everywhere.
  private static func place(of entry: EncodedEntries.Entry) -> Place {
    let key = entry.key.isAtEnd ? (0, 0) : (entry.key.position, entry.key.end)
    let value = entry.value.isAtEnd ? (0, 0) : (entry.value.position, entry.value.end)
    return Place(keyStart: key.0, keyEnd: key.1, valueStart: value.0, valueEnd: value.1)
  }

  private static func sortedKeepingLast(_ places: [Place], in message: WireReader) -> [Place] {
    let order = places.indices.sorted { a, b in
      switch compareKeys(message, places[a], places[b]) {
      case .ascending: true
      case .same: a < b
      case .descending: false
      }
    }
    var sorted: [Place] = []
    sorted.reserveCapacity(places.count)
    for index in order {
      if let last = sorted.last, compareKeys(message, last, places[index]) == .same {
        sorted[sorted.count - 1] = places[index]
      } else {
        sorted.append(places[index])
      }
    }
    return sorted
  }
}

extension EncodedValue {
  /// The encoded elements of an array, without reading them.
  package static func elements(ofArray message: WireReader) throws(WireFormatError) -> [WireReader] {
    var elements: [WireReader] = []
    var reader = message
    while let tag = try reader.readTag("ArrayValue") {
      if tag.field == ValueField.arrayElements {
        try reader.require(.lengthDelimited, tag, "ArrayValue.values")
        elements.append(try reader.readMessage("ArrayValue.values"))
      } else {
        try reader.skip(tag, "ArrayValue")
      }
    }
    return elements
  }
}

/// A copy of bytes at one address for the lifetime of the object, so that readers of the bytes can be stored with it.
package final class PinnedBytes {
  private let memory: UnsafeMutableRawBufferPointer

  package init(_ bytes: [UInt8]) {
    memory = .allocate(byteCount: bytes.count, alignment: 8)
    memory.copyBytes(from: bytes)
  }

  deinit {
    memory.deallocate()
  }

  /// Reads all of the bytes; must not be used after the object is gone.
  package var reader: WireReader { WireReader(UnsafeRawBufferPointer(memory)) }
}
