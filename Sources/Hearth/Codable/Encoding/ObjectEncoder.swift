internal import Foundation

/// The encoder that a type sees, at one place of the result.
final class ObjectEncoder: Encoder {
  let context: EncodingContext
  let node: EncodingNode
  let depth: Int
  private let parent: ObjectEncoder?
  private let step: CodingStep?

  init(context: EncodingContext, parent: ObjectEncoder?, step: CodingStep?, node: EncodingNode = EncodingNode()) {
    self.context = context
    self.parent = parent
    self.step = step
    self.node = node
    depth = (parent?.depth ?? -1) + 1
  }

  var codingPath: [any CodingKey] {
    var path: [any CodingKey] = []
    var encoder: ObjectEncoder? = self
    while let current = encoder {
      if let step = current.step { path.append(step.key) }
      encoder = current.parent
    }
    return path.reversed()
  }

  var userInfo: [CodingUserInfoKey: Any] { context.options.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    become(.map)
    return KeyedEncodingContainer(KeyedObjectEncodingContainer<Key>(encoder: self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    become(.array)
    return UnkeyedObjectEncodingContainer(encoder: self)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  /// An encoder for a part of this one's value.
  func child(_ step: CodingStep, _ node: EncodingNode = EncodingNode()) -> ObjectEncoder {
    ObjectEncoder(context: context, parent: self, step: step, node: node)
  }

  /// Encodes a single value.
  func set(_ object: Any) {
    if !node.set(object) { reportMisuse() }
  }

  private func become(_ kind: EncodingNode.Kind) {
    if !node.become(kind) { reportMisuse() }
  }

  /// The protocols do not allow an error there, so the run fails when it ends.
  private func reportMisuse() {
    context.report(
      .invalidValue(
        node.object ?? NSNull(),
        EncodingError.Context(
          codingPath: codingPath,
          debugDescription: """
            A type asked its encoder for containers of different kinds, or encoded more than one single value\
            \(CodingPathText.place(codingPath, document: nil)).
            """)))
  }
}

extension ObjectEncoder: SingleValueEncodingContainer {
  func encodeNil() { set(NSNull()) }
  func encode(_ value: Bool) { set(NSNumber(value: value)) }
  func encode(_ value: String) { set(value) }
  func encode(_ value: Double) throws { set(try context.number(value, at: codingPath)) }
  func encode(_ value: Float) throws { set(try context.number(value, at: codingPath)) }
  func encode(_ value: Int) { set(NSNumber(value: value)) }
  func encode(_ value: Int8) { set(NSNumber(value: value)) }
  func encode(_ value: Int16) { set(NSNumber(value: value)) }
  func encode(_ value: Int32) { set(NSNumber(value: value)) }
  func encode(_ value: Int64) { set(NSNumber(value: value)) }
  func encode(_ value: UInt) { set(NSNumber(value: value)) }
  func encode(_ value: UInt8) { set(NSNumber(value: value)) }
  func encode(_ value: UInt16) { set(NSNumber(value: value)) }
  func encode(_ value: UInt32) { set(NSNumber(value: value)) }
  func encode(_ value: UInt64) { set(NSNumber(value: value)) }

  func encode<T: Encodable>(_ value: T) throws {
    try context.encode(value, inPlaceOf: self)
  }
}
