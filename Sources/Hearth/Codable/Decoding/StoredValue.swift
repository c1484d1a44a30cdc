internal import Foundation
internal import HearthModel

/// A value to decode: a part of a document's stored encoding, or an object of a dictionary.
enum StoredValue {
  case null
  /// All fields of a document.
  case fields(WireReader)
  /// A `google.firestore.v1.Value`.
  case encoded(WireReader)
  case object(Any)
}

/// The content of a value, in either form.
enum StoredContent {
  case null
  case boolean(Bool)
  case integer(Int64)
  /// An integer that Firestore cannot store, among the objects of a dictionary.
  case largeInteger(any BinaryInteger)
  case double(Double)
  case string(String)
  case timestamp(HearthModel.Timestamp)
  case bytes(Data)
  case reference(DocumentReference)
  case geoPoint(HearthModel.GeoPoint)
  case vector(VectorValue)
  case array(StoredElements)
  case map(StoredMap)
  /// An object of a type that cannot be decoded from.
  case foreign(Any)

  /// The kind of value, for messages that expected another one.
  var kindDescription: String {
    switch self {
    case .null: "null"
    case .boolean: "a Boolean"
    case .integer, .largeInteger: "an integer"
    case .double: "a double"
    case .string: "a string"
    case .timestamp: "a timestamp"
    case .bytes: "bytes"
    case .reference: "a document reference"
    case .geoPoint: "a geo point"
    case .vector: "a vector"
    case .array: "an array"
    case .map: "a map"
    case .foreign(let object): "a value of type \(type(of: object))"
    }
  }

  /// The value as an object of this type, if it is one and the type is passed through.
  func object(as type: Any.Type) -> AnyObject? {
    switch self {
    case .timestamp(let timestamp) where type == Timestamp.self: Timestamp(timestamp)
    case .reference(let reference) where type == DocumentReference.self: reference
    case .geoPoint(let point) where type == GeoPoint.self: GeoPoint(point)
    case .vector(let vector) where type == VectorValue.self: vector
    default: nil
    }
  }
}

/// The elements of an array, in their stored form.
enum StoredElements {
  case encoded([WireReader])
  case objects([Any])

  var count: Int {
    switch self {
    case .encoded(let elements): elements.count
    case .objects(let elements): elements.count
    }
  }

  subscript(index: Int) -> StoredValue {
    switch self {
    case .encoded(let elements): .encoded(elements[index])
    case .objects(let elements): .object(elements[index])
    }
  }
}

/// The entries of a map, in their stored form.
enum StoredMap {
  case encoded(EncodedMapIndex)
  case objects([String: Any])
  /// Entries under the keys that a strategy made of the names.
  case renamed(RenamedEntries)

  func value(forKey key: String) -> StoredValue? {
    switch self {
    case .encoded(let index):
      if let value = index.value(forKey: key) { .encoded(value) } else { nil }
    case .objects(let objects):
      if let object = objects[key] { .object(object) } else { nil }
    case .renamed(let entries): entries.value(forKey: key)
    }
  }

  /// All keys, in the order of the names where that is known.
  func keys() throws(WireFormatError) -> [String] {
    switch self {
    case .encoded(let index):
      var keys: [String] = []
      keys.reserveCapacity(index.count)
      for position in 0..<index.count { keys.append(try index.key(at: position)) }
      return keys
    case .objects(let objects): return Array(objects.keys)
    case .renamed(let entries): return entries.keys
    }
  }

  /// The same entries under the keys that `rename` gives. Where two names give the same key, the first one in the order of names
  /// stays.
  func renamed(_ rename: (String) -> String) throws(WireFormatError) -> StoredMap {
    var entries = RenamedEntries()
    for name in try keys().sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
      if let value = value(forKey: name) { entries.add(value, forKey: rename(name)) }
    }
    return .renamed(entries)
  }
}

/// Entries by exact key, in the order in which they came.
struct RenamedEntries {
  private(set) var keys: [String] = []
  private var values: [ExactName: StoredValue] = [:]

  mutating func add(_ value: StoredValue, forKey key: String) {
    let name = ExactName(key)
    guard values[name] == nil else { return }
    values[name] = value
    keys.append(key)
  }

  func value(forKey key: String) -> StoredValue? { values[ExactName(key)] }
}
