import Foundation

/// A JSON value of the corpus.
indirect enum JSON: Sendable, Equatable, Decodable {
  case null
  case bool(Bool)
  case integer(Int64)
  case double(Double)
  case string(String)
  case array([JSON])
  case object([String: JSON])

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode([String: JSON].self) {
      self = .object(value)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode([JSON].self) {
      self = .array(value)
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Int64.self) {
      self = .integer(value)
    } else {
      self = .double(try container.decode(Double.self))
    }
  }

  /// The member of an object; nil if there is none, or if it is null.
  subscript(name: String) -> JSON? {
    guard case .object(let members) = self, let member = members[name], member != .null else { return nil }
    return member
  }

  func has(_ name: String) -> Bool {
    if case .object(let members) = self { members[name] != nil } else { false }
  }

  // MARK: - What a place of the corpus must hold

  func object() throws -> [String: JSON] {
    guard case .object(let value) = self else { throw SpecFailure("expected an object, not \(self)") }
    return value
  }

  func array() throws -> [JSON] {
    guard case .array(let value) = self else { throw SpecFailure("expected an array, not \(self)") }
    return value
  }

  func array(count: Int) throws -> [JSON] {
    let value = try array()
    guard value.count == count else { throw SpecFailure("expected \(count) elements, not \(self)") }
    return value
  }

  func string() throws -> String {
    guard case .string(let value) = self else { throw SpecFailure("expected a string, not \(self)") }
    return value
  }

  func strings() throws -> [String] { try array().map { try $0.string() } }

  func bool() throws -> Bool {
    guard case .bool(let value) = self else { throw SpecFailure("expected true or false, not \(self)") }
    return value
  }

  func integer() throws -> Int64 {
    guard case .integer(let value) = self else { throw SpecFailure("expected an integer, not \(self)") }
    return value
  }
}

/// The reason why a test of the corpus did not pass.
struct SpecFailure: Error, CustomStringConvertible {
  var description: String

  init(_ description: String) {
    self.description = description
  }
}
