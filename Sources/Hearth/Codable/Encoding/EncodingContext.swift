internal import Foundation
internal import HearthModel

/// The settings of an encoder, fixed for one run.
struct EncodingOptions {
  var date: FirebaseDataEncoder.DateEncodingStrategy
  var data: FirebaseDataEncoder.DataEncodingStrategy
  var float: FirebaseDataEncoder.NonConformingFloatEncodingStrategy
  var key: FirebaseDataEncoder.KeyEncodingStrategy
  /// nil for Firestore's own types.
  var passthrough: (any StructureCodingPassthroughTypeResolver.Type)?
  var userInfo: [CodingUserInfoKey: Any]
}

/// One run of an encoder: turns a value into objects.
final class EncodingContext {
  let options: EncodingOptions
  /// An error that a container could not report, because requesting one cannot throw.
  private var misuse: EncodingError?

  init(_ options: EncodingOptions) {
    self.options = options
  }

  /// Encodes a whole value.
  func encodeRoot<T: Encodable>(_ value: T) throws -> Any {
    let root = ObjectEncoder(context: self, parent: nil, step: nil)
    let encoded = try encode(value, into: root, isRoot: true)
    if let misuse { throw misuse }
    guard let object = encoded.object else {
      throw EncodingError.invalidValue(
        value,
        EncodingError.Context(codingPath: [], debugDescription: "Top-level \(T.self) did not encode any values."))
    }
    return object
  }

  /// Encodes a value that an encoder's type holds.
  func encode<T: Encodable>(_ value: T, below parent: ObjectEncoder, _ step: CodingStep) throws -> EncodedObject {
    try encode(value, into: ObjectEncoder(context: self, parent: parent, step: step), isRoot: false)
  }

  /// Encodes a value in place of the one that an encoder was created for.
  func encode<T: Encodable>(_ value: T, inPlaceOf encoder: ObjectEncoder) throws {
    let inner = ObjectEncoder(context: self, parent: encoder, step: nil, node: encoder.node)
    if case .object(let object) = try encode(value, into: inner, isRoot: false) { encoder.set(object) }
  }

  /// The first misuse is reported when the run ends.
  func report(_ error: EncodingError) {
    if misuse == nil { misuse = error }
  }

  private func encode<T: Encodable>(_ value: T, into encoder: ObjectEncoder, isRoot: Bool) throws -> EncodedObject {
    guard encoder.depth <= CodingPathText.maximumDepth else {
      throw EncodingError.invalidValue(
        value,
        EncodingError.Context(
          codingPath: encoder.codingPath,
          debugDescription: "Values are nested more than \(CodingPathText.maximumDepth) levels deep."))
    }
    switch value {
    case let date as Date: try encode(date, into: encoder)
    case let data as Data: try encode(data, into: encoder)
    case let url as URL: return .object(url.absoluteString)
    case let decimal as Decimal: return .object(NSDecimalNumber(decimal: decimal))
    default:
      if passesThrough(value) { return .object(value) }
      if case .useDefaultKeys = options.key {
        try value.encode(to: encoder)
      } else if value is any StringKeyedDictionary, let fields = value as? [String: any Encodable] {
        try encode(fields, into: encoder)
      } else {
        try value.encode(to: encoder)
      }
    }
    // A part that encodes nothing is an empty map.
    if encoder.node.kind == .empty, !isRoot { return .object([String: Any]()) }
    return .node(encoder.node)
  }

  private func passesThrough<T>(_ value: T) -> Bool {
    if let passthrough = options.passthrough { return passthrough.isPassthroughType(value) }
    return FirestorePassthroughTypes.isPassthroughType(value)
  }

  private func encode(_ date: Date, into encoder: ObjectEncoder) throws {
    switch options.date {
    case .timestamp: encoder.set(try Timestamp(encoding: date, at: encoder.codingPath))
    case .deferredToDate: try date.encode(to: encoder)
    case .secondsSince1970: try encoder.encode(date.timeIntervalSince1970)
    case .millisecondsSince1970: try encoder.encode(date.timeIntervalSince1970 * 1000)
    case .iso8601: encoder.set(ISO8601DateFormatter().string(from: try formattable(date, encoder)))
    case .formatted(let formatter): encoder.set(formatter.string(from: try formattable(date, encoder)))
    case .custom(let encode): try encode(date, encoder)
    }
  }

  /// The date, if formatters have a text for it: they stop the process for one that is no finite number.
  private func formattable(_ date: Date, _ encoder: ObjectEncoder) throws -> Date {
    guard date.timeIntervalSince1970.isFinite else {
      throw EncodingError.invalidValue(
        date.timeIntervalSince1970,
        EncodingError.Context(
          codingPath: encoder.codingPath,
          debugDescription: """
            A date that is \(date.timeIntervalSince1970) s after 1970 has no text\
            \(CodingPathText.place(encoder.codingPath, document: nil)).
            """))
    }
    return date
  }

  private func encode(_ data: Data, into encoder: ObjectEncoder) throws {
    switch options.data {
    case .blob: encoder.set(data)
    case .base64: encoder.set(data.base64EncodedString())
    case .deferredToData: try data.encode(to: encoder)
    case .custom(let encode): try encode(data, encoder)
    }
  }

  private func encode(_ fields: [String: any Encodable], into encoder: ObjectEncoder) throws {
    let node = encoder.node
    node.become(.map)
    for (name, value) in fields where !(value is any StructureCodingUncodedUnkeyed) {
      node.set(try encode(value, below: encoder, .key(StoredKey(name))), for: name)
    }
  }

  /// A number as Foundation has it.
  func number<F: BinaryFloatingPoint & Encodable>(_ value: F, at path: @autoclosure () -> [any CodingKey]) throws -> Any
  {
    if value.isFinite { return NSNumber(value: Double(value)) }
    guard case .convertToString(let positiveInfinity, let negativeInfinity, let nan) = options.float else {
      let path = path()
      throw EncodingError.invalidValue(
        value,
        EncodingError.Context(
          codingPath: path,
          debugDescription: """
            Unable to encode \(F.self) \(value) directly\(CodingPathText.place(path, document: nil)). Use \
            NonConformingFloatEncodingStrategy.convertToString to specify how the value should be encoded.
            """))
    }
    return value.isNaN ? nan : (value < 0 ? negativeInfinity : positiveInfinity)
  }

  /// The field's name that a key becomes.
  func name(of key: some CodingKey, in encoder: ObjectEncoder) -> String {
    switch options.key {
    case .useDefaultKeys: key.stringValue
    case .convertToSnakeCase: SnakeCase.encode(key.stringValue)
    case .custom(let convert): convert(encoder.codingPath + [key]).stringValue
    }
  }
}

/// A part of the result: ready, or a container that may still grow.
enum EncodedObject {
  case object(Any)
  case node(EncodingNode)

  /// The finished objects; nil for a container that was never requested.
  var object: Any? {
    switch self {
    case .object(let object): object
    case .node(let node): node.object
    }
  }
}

/// The output of a type's encoding. Containers refer to it, so that later additions, for example through `superEncoder()`, find their
/// place.
final class EncodingNode {
  enum Kind {
    case empty
    case value
    case map
    case array
  }

  private(set) var kind = Kind.empty
  private var value: Any?
  private var fields: [String: EncodedObject] = [:]
  private var elements: [EncodedObject] = []

  var count: Int { elements.count }

  /// Makes the node a container, if it is not yet one of the kind.
  ///
  /// - Returns: False if a value was lost.
  @discardableResult
  func become(_ kind: Kind) -> Bool {
    defer { self.kind = kind }
    return self.kind == kind || self.kind == .empty
  }

  /// Makes the node a value.
  ///
  /// - Returns: False if a value was lost.
  @discardableResult
  func set(_ object: Any) -> Bool {
    defer { kind = .value }
    value = object
    return kind == .empty
  }

  func set(_ object: EncodedObject, for name: String) {
    fields[name] = object
  }

  func append(_ object: EncodedObject) {
    elements.append(object)
  }

  func node(for name: String) -> EncodingNode? {
    if case .node(let node)? = fields[name] { node } else { nil }
  }

  var object: Any? {
    switch kind {
    case .empty: nil
    case .value: value
    case .map: fields.mapValues { $0.object ?? [String: Any]() }
    case .array: elements.map { $0.object ?? [String: Any]() }
    }
  }
}
