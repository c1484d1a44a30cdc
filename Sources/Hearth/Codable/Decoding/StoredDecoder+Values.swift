internal import Foundation
internal import HearthModel

// Reading one value. `step` leads from this decoder to the value, nil if the value is the decoder's own; it is only evaluated for an
// error, or to decode a part.
extension StoredDecoder {
  func content(of value: StoredValue, _ step: @autoclosure () -> CodingStep?) throws -> StoredContent {
    try reportingDamage(step()) { () throws(WireFormatError) in try context.content(of: value) }
  }

  /// Returns whether the value is null, without building it. Damage counts as something, and is reported when it is read.
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
    guard let exact else { throw corrupted("the number \(number) is not a value of \(I.self)", step()) }
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
  /// - Parameter decoder: The decoder at the value's place, made only if the type decodes itself.
  func decode<T: Decodable>(
    _ type: T.Type, from value: StoredValue, _ step: @autoclosure () -> CodingStep?,
    _ decoder: () throws -> StoredDecoder
  ) throws -> T {
    if type == String.self { return same(try string(value, step()), type) }
    if type == Int.self { return same(try integer(value, step()) as Int, type) }
    if type == Double.self { return same(try floatingPoint(value, step()) as Double, type) }
    if type == Bool.self { return same(try boolean(value, step()), type) }
    if type == Date.self { return same(try date(value, step(), decoder), type) }
    if type == Data.self { return same(try data(value, step(), decoder), type) }
    if type == URL.self { return same(try url(value, step()), type) }
    if type == Decimal.self { return same(try decimal(value, step()), type) }
    if type == [String].self { return same(try decoder().array { try $0.string($1, .index($2)) }, type) }
    if type == [Int].self { return same(try decoder().array { try $0.integer($1, .index($2)) as Int }, type) }
    if type == [Double].self {
      return same(try decoder().array { try $0.floatingPoint($1, .index($2)) as Double }, type)
    }
    if context.handsOverOwnTypes,
      type == Timestamp.self || type == GeoPoint.self || type == DocumentReference.self || type == VectorValue.self,
      let object = try content(of: value, step()).object(as: type)
    {
      return same(object, type)
    }
    if !context.isPlain { return try decodeSpecially(type, from: value, decoder) }
    return try T(from: decoder())
  }

  /// Same as above, for decoders that pass other types through or change keys. A separate function: in a common one the runtime would look
  /// up the type `Optional<T>` for each value, in a table that all threads share.
  @inline(never)
  private func decodeSpecially<T: Decodable>(
    _ type: T.Type, from value: StoredValue, _ decoder: () throws -> StoredDecoder
  ) throws -> T {
    if let resolver = context.options.passthrough, case .object(let object) = value, Swift.type(of: object) == type,
      let known = object as? T, resolver.isPassthroughType(known)
    {
      return known
    }
    if !context.hasDefaultKeys, let dictionary = type as? any StringKeyedDictionary.Type,
      let decoded = try dictionary.decode(with: decoder()) as? T
    {
      return decoded
    }
    return try T(from: decoder())
  }

  /// The value as the type that the caller has found to be its own: `T` is `Known`, or the class of the object `Known`.
  ///
  /// A cast would look both types up in tables of the runtime that all threads share.
  @inline(__always)
  private func same<Known, T>(_ value: Known, _ type: T.Type) -> T {
    assert(value is T)
    return unsafeBitCast(value, to: type)
  }

  /// The elements of an array of a basic type, as `Array` would decode them out of an unkeyed container.
  @inline(__always)
  private func array<Element>(_ element: (StoredDecoder, StoredValue, Int) throws -> Element) throws -> [Element] {
    let stored = try elements(for: (any UnkeyedDecodingContainer).self)
    var result: [Element] = []
    result.reserveCapacity(stored.count)
    for index in 0..<stored.count { result.append(try element(self, stored[index], index)) }
    return result
  }

  private func date(
    _ value: StoredValue, _ step: @autoclosure () -> CodingStep?, _ decoder: () throws -> StoredDecoder
  ) throws -> Date {
    switch context.options.date {
    case .timestamp:
      let content = try content(of: value, step())
      guard case .timestamp(let timestamp) = content else { throw mismatch(Date.self, content, step()) }
      return timestamp.date
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
      throw corrupted("the text is not valid Base64", step())
    }
    return data
  }

  private func url(_ value: StoredValue, _ step: @autoclosure () -> CodingStep?) throws -> URL {
    guard let url = URL(string: try string(value, step())) else {
      throw corrupted("the text is not a valid URL", step())
    }
    return url
  }

  private func decimal(_ value: StoredValue, _ step: @autoclosure () -> CodingStep?) throws -> Decimal {
    if case .object(let object) = value, let number = object as? NSDecimalNumber { return number.decimalValue }
    let content = try content(of: value, step())
    switch content {
    case .integer(let integer): return Decimal(integer)
    case .largeInteger(let integer):
      if let decimal = Decimal(string: "\(integer)") { return decimal }
    case .double(let double):
      let decimal = double.isFinite ? Decimal(double) : .nan
      guard !decimal.isNaN else { throw corrupted("the number \(double) cannot be a Decimal", step()) }
      return decimal
    default: break
    }
    throw mismatch(Decimal.self, content, step())
  }
}
