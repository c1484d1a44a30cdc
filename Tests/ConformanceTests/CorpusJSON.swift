import Foundation

/// A JSON value of the corpus. Numbers written as digits alone are integers.
indirect enum JSON: Sendable, Equatable {
  case null
  case boolean(Bool)
  case integer(Int64)
  case double(Double)
  case string(String)
  case array([JSON])
  case object([String: JSON])

  init(parsing bytes: Data) throws {
    self = try JSON(JSONSerialization.jsonObject(with: bytes, options: .fragmentsAllowed))
  }

  /// The JSON in a text that stands inside the corpus as a string (`jsonData`, `jsonValue`).
  init(parsing text: String) throws {
    try self.init(parsing: Data(text.utf8))
  }

  private init(_ object: Any) throws {
    switch object {
    case is NSNull:
      self = .null
    case let string as String:
      self = .string(string)
    case let array as [Any]:
      self = .array(try array.map(JSON.init))
    case let dictionary as [String: Any]:
      self = .object(try dictionary.mapValues(JSON.init))
    case let number as NSNumber:
      switch UInt8(bitPattern: number.objCType[0]) {
      case UInt8(ascii: "c"), UInt8(ascii: "B"): self = .boolean(number.boolValue)
      case UInt8(ascii: "d"), UInt8(ascii: "f"): self = .double(number.doubleValue)
      default: self = .integer(number.int64Value)
      }
    default:
      throw MalformedCase("a value of type \(type(of: object)) is no JSON")
    }
  }

  /// The value as text, for the readers of protobuf's JSON form.
  var text: String {
    get throws {
      let bytes = try JSONSerialization.data(withJSONObject: object, options: .fragmentsAllowed)
      return String(decoding: bytes, as: UTF8.self)
    }
  }

  private var object: Any {
    switch self {
    case .null: NSNull()
    case .boolean(let value): value
    case .integer(let value): value
    case .double(let value): value
    case .string(let value): value
    case .array(let elements): elements.map(\.object)
    case .object(let members): members.mapValues(\.object)
    }
  }
}

// MARK: - Reading

extension JSON {
  /// The member of an object, nil if there is none.
  subscript(name: String) -> JSON? {
    guard case .object(let members) = self else { return nil }
    return members[name]
  }

  var isTrue: Bool { self == .boolean(true) }

  var string: String? {
    guard case .string(let value) = self else { return nil }
    return value
  }

  var integer: Int? {
    guard case .integer(let value) = self else { return nil }
    return Int(value)
  }

  /// The elements of an array; none for anything else.
  var elements: [JSON] {
    guard case .array(let elements) = self else { return [] }
    return elements
  }

  /// A member that has to be there.
  func required(_ name: String) throws -> JSON {
    guard let member = self[name] else { throw MalformedCase("\"\(name)\" is missing") }
    return member
  }

  func requiredString(_ name: String) throws -> String {
    guard let string = try required(name).string else { throw MalformedCase("\"\(name)\" is no string") }
    return string
  }

  /// The same object without one of its members.
  func without(_ name: String) -> JSON {
    guard case .object(var members) = self else { return self }
    members[name] = nil
    return .object(members)
  }

  /// The same object with one of its members replaced or added.
  func with(_ name: String, _ value: JSON) -> JSON {
    guard case .object(var members) = self else { return self }
    members[name] = value
    return .object(members)
  }
}

/// A file of the corpus is not what its format says.
struct MalformedCase: Error, CustomStringConvertible {
  var description: String

  init(_ description: String) {
    self.description = description
  }
}
