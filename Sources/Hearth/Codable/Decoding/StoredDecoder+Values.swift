internal import Foundation
internal import HearthModel

// Reading one value. `step` is the way from this decoder to the value, nil if the value is the decoder's own; it is only
// evaluated for an error, or to go down.
extension StoredDecoder {
  func content(of value: StoredValue, _ step: @autoclosure () -> CodingStep?) throws -> StoredContent {
    try reportingDamage(step()) { () throws(WireFormatError) in try context.content(of: value) }
  }

  /// Whether the value is null, without building it. Damage counts as something, and is reported when it is read.
  func isNull(_ value: StoredValue) -> Bool {
    switch value {
    case .null: true
    case .fields: false
    case .encoded(let message): (try? context.isNull(message)) ?? false
    case .object(let object):
      if case .null? = try? context.content(of: .object(object)) { true } else { false }
    }
  }

  func boolean(_ value: StoredValue, _ step: @autoclosure () -> CodingStep?) throws -> Bool {
    let content = try content(of: value, step())
    guard case .boolean(let boolean) = content else { throw mismatch(Bool.self, content, step()) }
    return boolean
  }

  func string(_ value: StoredValue, _ step: @autoclosure () -> CodingStep?) throws -> String {
    let content = try content(of: value, step())
    guard case .string(let string) = content else { throw mismatch(String.self, content, step()) }
    return string
  }

  /// Any number that the type has exactly.
  func integer<I: FixedWidthInteger>(_ value: StoredValue, _ step: @autoclosure () -> CodingStep?) throws -> I {
    let content = try content(of: value, step())
    let exact: I?
    let number: any Sendable & CustomStringConvertible
    switch content {
    case .integer(let integer): (exact, number) = (I(exactly: integer), integer)
    case .double(let double): (exact, number) = (I(exactly: double), double)
    case .largeInteger(let integer): (exact, number) = (I(exactly: integer), "\(integer)")
    default: throw mismatch(I.self, content, step())
    }
    guard let exact else { throw corrupted("the number \(number) is no \(I.self)", step()) }
    return exact
  }

  /// Any number, with the precision that the type has, and the texts of the strategy.
  func floatingPoint<F: BinaryFloatingPoint>(_ value: StoredValue, _ step: @autoclosure () -> CodingStep?) throws -> F {
    let content = try content(of: value, step())
    switch content {
    case .integer(let integer): return F(integer)
    case .largeInteger(let integer): return F(integer)
    case .double(let double):
      let number = F(double)
      guard number.isFinite || !double.isFinite else {
        throw corrupted("the number \(double) does not fit in \(F.self)", step())
      }
      return number
    case .string(let text):
      guard
        case .convertFromString(let positiveInfinity, let negativeInfinity, let nan) = context.options.float
      else { throw mismatch(F.self, content, step()) }
      switch text {
      case positiveInfinity: return .infinity
      case negativeInfinity: return -.infinity
      case nan: return .nan
      default: throw mismatch(F.self, content, step())
      }
    default:
      throw mismatch(F.self, content, step())
    }
  }

  /// Decodes any type.
  ///
  /// - Parameter decoder: The decoder that stands on the value, made only if the type decodes itself.
  func decode<T: Decodable>(
    _ type: T.Type, from value: StoredValue, _ step: @autoclosure () -> CodingStep?,
    _ decoder: () throws -> StoredDecoder
  ) throws -> T {
    if type == String.self { return try same(string(value, step()), type) }
    if type == Int.self { return try same(integer(value, step()) as Int, type) }
    if type == Double.self { return try same(floatingPoint(value, step()) as Double, type) }
    if type == Bool.self { return try same(boolean(value, step()), type) }
    if type == Date.self { return try same(date(value, step(), decoder), type) }
    if type == Data.self { return try same(data(value, step(), decoder), type) }
    if type == URL.self { return try same(url(value, step()), type) }
    if type == Decimal.self { return try same(decimal(value, step()), type) }
    if let object = try passthrough(type, value, step()) { return object }
    if !context.hasDefaultKeys, let dictionary = type as? any StringKeyedDictionary.Type,
      let decoded = try dictionary.decode(with: decoder()) as? T
    {
      return decoded
    }
    return try T(from: decoder())
  }

  /// The value as the type that it is known to have.
  private func same<Known, T>(_ value: Known, _ type: T.Type) throws -> T {
    guard let same = value as? T else { throw corrupted("a value of type \(Known.self) is no \(type)", nil) }
    return same
  }

  /// A value that is handed through, if it is of exactly the type that is asked for.
  private func passthrough<T>(_ type: T.Type, _ value: StoredValue, _ step: @autoclosure () -> CodingStep?) throws -> T?
  {
    if let resolver = context.options.passthrough {
      guard case .object(let object) = value, let known = object as? T, resolver.isPassthroughType(known),
        Swift.type(of: object) == type
      else { return nil }
      return known
    }
    guard type is AnyClass else { return nil }
    guard
      type == Timestamp.self || type == GeoPoint.self || type == DocumentReference.self || type == VectorValue.self
    else { return nil }
    return try content(of: value, step()).passthroughObject as? T
  }

  private func date(
    _ value: StoredValue, _ step: @autoclosure () -> CodingStep?, _ decoder: () throws -> StoredDecoder
  ) throws -> Date {
    switch context.options.date {
    case .timestamp:
      let content = try content(of: value, step())
      guard case .timestamp(let timestamp) = content else { throw mismatch(Date.self, content, step()) }
      return timestamp.dateValue()
    case .deferredToDate: return try Date(from: decoder())
    case .secondsSince1970: return Date(timeIntervalSince1970: try floatingPoint(value, step()))
    case .millisecondsSince1970: return Date(timeIntervalSince1970: try floatingPoint(value, step()) / 1000)
    case .iso8601:
      guard let date = ISO8601DateFormatter().date(from: try string(value, step())) else {
        throw corrupted("expected date string to be ISO8601-formatted", step())
      }
      return date
    case .formatted(let formatter):
      guard let date = formatter.date(from: try string(value, step())) else {
        throw corrupted("date string does not match format expected by formatter", step())
      }
      return date
    case .custom(let decode): return try decode(decoder())
    }
  }

  private func data(
    _ value: StoredValue, _ step: @autoclosure () -> CodingStep?, _ decoder: () throws -> StoredDecoder
  ) throws -> Data {
    switch context.options.data {
    case .blob:
      let content = try content(of: value, step())
      switch content {
      case .bytes(let data): return data
      case .string: return try base64(value, step())
      default: throw mismatch(Data.self, content, step())
      }
    case .base64: return try base64(value, step())
    case .deferredToData: return try Data(from: decoder())
    case .custom(let decode): return try decode(decoder())
    }
  }

  private func base64(_ value: StoredValue, _ step: @autoclosure () -> CodingStep?) throws -> Data {
    guard let data = Data(base64Encoded: try string(value, step())) else {
      throw corrupted("the text is no valid Base64", step())
    }
    return data
  }

  private func url(_ value: StoredValue, _ step: @autoclosure () -> CodingStep?) throws -> URL {
    guard let url = URL(string: try string(value, step())) else { throw corrupted("the text is no valid URL", step()) }
    return url
  }

  private func decimal(_ value: StoredValue, _ step: @autoclosure () -> CodingStep?) throws -> Decimal {
    if case .object(let object) = value, let number = object as? NSDecimalNumber { return number.decimalValue }
    let content = try content(of: value, step())
    switch content {
    case .integer(let integer): return Decimal(integer)
    case .largeInteger(let integer):
      if let decimal = Decimal(string: "\(integer)") { return decimal }
    case .double(let double) where double.isFinite: return Decimal(double)
    case .double(let double): throw corrupted("the number \(double) is no Decimal", step())
    default: break
    }
    throw mismatch(Decimal.self, content, step())
  }
}
