public import Foundation
internal import HearthModel

/// The content of a field as a value that can be passed between actors and tasks. See ``FieldMap``.
///
/// Literals stand for contents: `nil` is ``null``, `3` is an integer, `3.0` a double, and `["a": 1]` a map.
///
/// Two contents are equal when they are of the same case and have equal values: the integer 1 is not the double 1.0, and NaN is not
/// equal to itself.
public enum FieldContent: Sendable, Hashable {
  /// The value null: the field exists.
  case null
  /// A Boolean.
  case boolean(Bool)
  /// An integer of 64 bits.
  case integer(Int64)
  /// A floating-point number; NaN and the infinities are legal.
  case double(Double)
  /// A time; it is stored in microseconds.
  case timestamp(Timestamp)
  /// A text.
  case string(String)
  /// Bytes.
  case bytes(Data)
  /// A reference to a document of the same database.
  case reference(DocumentReference)
  /// A position on the earth.
  case geoPoint(GeoPoint)
  /// A vector of doubles.
  case vector(VectorValue)
  /// A list. An array directly in an array is a programming error of the call that writes it.
  case array([FieldContent])
  /// Fields below this one.
  case map(FieldMap)
  /// An operation on the field. Only in writes, and only where ``FieldValue`` is legal; snapshots never have it.
  case operation(FieldValue)

  /// A time, given as a `Date`.
  ///
  /// - Parameter date: A time from the year 1 to the year 9999; others are a programming error.
  public static func date(_ date: Date) -> FieldContent { .timestamp(Timestamp(date: date)) }

  /// ``FieldValue/delete()``.
  public static var delete: FieldContent { .operation(.delete()) }

  /// ``FieldValue/serverTimestamp()``.
  public static var serverTimestamp: FieldContent { .operation(.serverTimestamp()) }

  /// ``FieldValue/increment(_:)-(Int64)``.
  public static func increment(_ operand: Int64) -> FieldContent { .operation(.increment(operand)) }

  /// ``FieldValue/increment(_:)-(Double)``.
  @_disfavoredOverload
  public static func increment(_ operand: Double) -> FieldContent { .operation(.increment(operand)) }

  /// ``FieldValue/arrayUnion(_:)``.
  public static func arrayUnion(_ elements: [FieldContent]) -> FieldContent {
    .operation(.arrayUnion(elements.map(\.object)))
  }

  /// ``FieldValue/arrayRemove(_:)``.
  public static func arrayRemove(_ elements: [FieldContent]) -> FieldContent {
    .operation(.arrayRemove(elements.map(\.object)))
  }
}

// MARK: - Literals

extension FieldContent: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral,
  ExpressibleByDictionaryLiteral
{
  /// ``null``.
  public init(nilLiteral: ()) { self = .null }
  /// A Boolean.
  public init(booleanLiteral value: Bool) { self = .boolean(value) }
  /// An integer.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// A floating-point number.
  public init(floatLiteral value: Double) { self = .double(value) }
  /// A text.
  public init(stringLiteral value: String) { self = .string(value) }
  /// A list.
  public init(arrayLiteral elements: FieldContent...) { self = .array(elements) }
  /// A map. If entries have the same name, the last one counts.
  public init(dictionaryLiteral elements: (String, FieldContent)...) { self = .map(FieldMap(elements)) }
}

// MARK: - Conversion

extension FieldContent {
  /// The same content as `setData(_:)` takes it.
  var object: Any {
    switch self {
    case .null: NSNull()
    case .boolean(let value): value
    case .integer(let value): value
    case .double(let value): value
    case .timestamp(let value): value
    case .string(let value): value
    case .bytes(let value): value
    case .reference(let value): value
    case .geoPoint(let value): value
    case .vector(let value): value
    case .array(let elements): elements.map(\.object)
    case .map(let map): map.objects
    case .operation(let value): value
    }
  }

  /// The content of a stored value.
  ///
  /// - Parameter writer: Makes references, and the values of server timestamps that are not yet set.
  init(_ value: HearthModel.Value, _ writer: UserDataWriter) {
    switch value {
    case .null: self = .null
    case .boolean(let boolean): self = .boolean(boolean)
    case .integer(let integer): self = .integer(integer)
    case .double(let double): self = .double(double)
    case .timestamp(let timestamp): self = .timestamp(Timestamp(timestamp.truncatedToMicroseconds()))
    case .pendingServerTimestamp(let localWriteTime, let previousValue):
      switch writer.behavior {
      case .none: self = .null
      case .estimate: self = .timestamp(Timestamp(localWriteTime))
      case .previous: self = previousValue.map { FieldContent($0, writer) } ?? .null
      }
    case .string(let string): self = .string(string)
    case .bytes(let bytes): self = .bytes(Data(bytes))
    case .reference(let reference): self = .reference(writer.document(reference))
    case .geoPoint(let point): self = .geoPoint(GeoPoint(point))
    case .array(let elements): self = .array(elements.map { FieldContent($0, writer) })
    case .map(let map):
      if let elements = value.vectorElements {
        self = .vector(VectorValue(elements))
      } else {
        self = .map(FieldMap(map, writer))
      }
    }
  }

  /// The content of an object that `setData(_:)` takes.
  ///
  /// - Parameter path: The field, for the error.
  init(checking object: Any, at path: String) throws(ProgrammingError) {
    guard let value = UserDataReader.unwrap(object) else {
      self = .null
      return
    }
    if let map = value as? [String: Any] {
      self = .map(try FieldMap(checking: map, below: path + "."))
      return
    }
    switch value {
    case is NSNull: self = .null
    case let timestamp as Timestamp: self = .timestamp(timestamp)
    case let point as GeoPoint: self = .geoPoint(point)
    case let vector as VectorValue: self = .vector(vector)
    case let reference as DocumentReference: self = .reference(reference)
    case let operation as FieldValue: self = .operation(operation)
    default: self = try Self.scalar(value, at: path)
    }
  }

  private static func scalar(_ value: Any, at path: String) throws(ProgrammingError) -> FieldContent {
    switch NumberObject(value) {
    case .boolean(let boolean): return .boolean(boolean)
    case .integer(let integer): return .integer(integer)
    case .double(let double): return .double(double)
    case .largeInteger(let integer):
      throw ProgrammingError("The number \(integer) in field \(path) is larger than Int64.max.")
    case nil: break
    }
    switch value {
    case let string as String: return .string(string)
    case let string as any StringProtocol: return .string(String(string))
    case let data as Data: return .bytes(data)
    case let date as Date: return .timestamp(Timestamp(try HearthModel.Timestamp(checking: date)))
    case let array as [Any]:
      var elements: [FieldContent] = []
      for (index, element) in array.enumerated() {
        elements.append(try FieldContent(checking: element, at: "\(path)[\(index)]"))
      }
      return .array(elements)
    default:
      throw ProgrammingError("Field \(path) has a value of type \(type(of: value)), which cannot be stored.")
    }
  }
}
