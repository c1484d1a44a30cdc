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

  /// An encoder for a part of what this one encodes.
  func child(_ step: CodingStep, _ node: EncodingNode = EncodingNode()) -> ObjectEncoder {
    ObjectEncoder(context: context, parent: self, step: step, node: node)
  }

  private func become(_ kind: EncodingNode.Kind) {
    guard !node.become(kind) else { return }
    context.report(
      .invalidValue(
        node,
        EncodingError.Context(
          codingPath: codingPath,
          debugDescription: "A type asked its encoder for containers of different kinds, or for one after a value.")))
  }
}

extension ObjectEncoder: SingleValueEncodingContainer {
  func encodeNil() { node.set(NSNull()) }
  func encode(_ value: Bool) { node.set(NSNumber(value: value)) }
  func encode(_ value: String) { node.set(value) }
  func encode(_ value: Double) throws { node.set(try context.number(value, at: codingPath)) }
  func encode(_ value: Float) throws { node.set(try context.number(value, at: codingPath)) }
  func encode(_ value: Int) { node.set(NSNumber(value: value)) }
  func encode(_ value: Int8) { node.set(NSNumber(value: value)) }
  func encode(_ value: Int16) { node.set(NSNumber(value: value)) }
  func encode(_ value: Int32) { node.set(NSNumber(value: value)) }
  func encode(_ value: Int64) { node.set(NSNumber(value: value)) }
  func encode(_ value: UInt) { node.set(NSNumber(value: value)) }
  func encode(_ value: UInt8) { node.set(NSNumber(value: value)) }
  func encode(_ value: UInt16) { node.set(NSNumber(value: value)) }
  func encode(_ value: UInt32) { node.set(NSNumber(value: value)) }
  func encode(_ value: UInt64) { node.set(NSNumber(value: value)) }

  func encode<T: Encodable>(_ value: T) throws {
    try context.encode(value, inPlaceOf: self)
  }
}
