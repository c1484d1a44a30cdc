/// A value of a field of a document.
///
/// There are two relations on values, and they differ on purpose. `==` detects changes of data: the integer 1 is not the double 1.0, and
/// doubles are compared by their bits (every NaN counts as one). `compare(_:_:)` is the order of filters and sorting, in which 1 and 1.0
/// are equal, and -0.0 and 0 too.
package enum Value: Sendable {
  case null
  case boolean(Bool)
  case integer(Int64)
  case double(Double)
  case timestamp(Timestamp)
  /// The place of a server timestamp that the backend has not filled in yet. Exists on this device only. In encoded form
  /// it is a map with `__type__` = "server_timestamp", `__local_write_time__` and, where there is one,
  /// `__previous_value__`.
  indirect case pendingServerTimestamp(localWriteTime: Timestamp, previousValue: Value?)
  case string(String)
  case bytes([UInt8])
  indirect case reference(ReferenceValue)
  case geoPoint(GeoPoint)
  case array([Value])
  /// A map, or a vector: a map with `__type__` = "__vector__" and an array `value`, see `isVector`.
  case map(MapValue)

  /// The class of the value in the total order, ascending; values of different classes are ordered by it.
  package var typeOrder: Int { typeClass.rawValue }

  var typeClass: TypeClass {
    switch self {
    case .null: .null
    case .boolean: .boolean
    case .integer, .double: .number
    case .timestamp: .timestamp
    case .pendingServerTimestamp: .pendingServerTimestamp
    case .string: .string
    case .bytes: .bytes
    case .reference: .reference
    case .geoPoint: .geoPoint
    case .array: .array
    case .map(let map): map.vectorArray == nil ? .map : .vector
    }
  }

  package var isNull: Bool { typeClass == .null }

  /// True if the value is a double that is not a number.
  package var isNaN: Bool {
    if case .double(let number) = self { number.isNaN } else { false }
  }

  /// True if the value is a vector; then it is no map for filters and order.
  package var isVector: Bool { typeClass == .vector }

  package static func vector(_ elements: [Double]) -> Value {
    .map([MapValue.typeKey: .string(MapValue.vectorType), MapValue.vectorKey: .array(elements.map(Value.double))])
  }

  /// The elements of a vector as doubles; nil for other values and for a vector with elements that are not numbers.
  package var vectorElements: [Double]? {
    guard case .map(let map) = self, let array = map.vectorArray else { return nil }
    var elements: [Double] = []
    elements.reserveCapacity(array.count)
    for element in array {
      switch element {
      case .double(let number): elements.append(number)
      case .integer(let number): elements.append(Double(number))
      default: return nil
      }
    }
    return elements
  }
}

/// The classes of values in the total order, ascending.
enum TypeClass: Int, Sendable {
  case null
  case boolean
  case number
  case timestamp
  case pendingServerTimestamp
  case string
  case bytes
  case reference
  case geoPoint
  case array
  case vector
  case map
}

extension Value: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  package init(booleanLiteral value: Bool) { self = .boolean(value) }
  package init(integerLiteral value: Int64) { self = .integer(value) }
  package init(floatLiteral value: Double) { self = .double(value) }
  package init(stringLiteral value: String) { self = .string(value) }
  package init(arrayLiteral elements: Value...) { self = .array(elements) }
  package init(dictionaryLiteral elements: (String, Value)...) { self = .map(MapValue(entries: elements)) }
}
