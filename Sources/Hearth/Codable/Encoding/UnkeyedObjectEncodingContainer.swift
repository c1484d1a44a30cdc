internal import Foundation

/// Writes the elements of an array.
struct UnkeyedObjectEncodingContainer: UnkeyedEncodingContainer {
  let encoder: ObjectEncoder

  var codingPath: [any CodingKey] { encoder.codingPath }
  var count: Int { encoder.node.count }

  private func append(_ object: Any) { encoder.node.append(.object(object)) }
  private var nextPath: [any CodingKey] { codingPath + [StoredKey(index: count)] }

  func encodeNil() { append(NSNull()) }
  func encode(_ value: Bool) { append(NSNumber(value: value)) }
  func encode(_ value: String) { append(value) }
  func encode(_ value: Double) throws { append(try encoder.context.number(value, at: nextPath)) }
  func encode(_ value: Float) throws { append(try encoder.context.number(value, at: nextPath)) }
  func encode(_ value: Int) { append(NSNumber(value: value)) }
  func encode(_ value: Int8) { append(NSNumber(value: value)) }
  func encode(_ value: Int16) { append(NSNumber(value: value)) }
  func encode(_ value: Int32) { append(NSNumber(value: value)) }
  func encode(_ value: Int64) { append(NSNumber(value: value)) }
  func encode(_ value: UInt) { append(NSNumber(value: value)) }
  func encode(_ value: UInt8) { append(NSNumber(value: value)) }
  func encode(_ value: UInt16) { append(NSNumber(value: value)) }
  func encode(_ value: UInt32) { append(NSNumber(value: value)) }
  func encode(_ value: UInt64) { append(NSNumber(value: value)) }

  func encode<T: Encodable>(_ value: T) throws {
    encoder.node.append(try encoder.context.encode(value, below: encoder, .index(count)))
  }

  func nestedContainer<NestedKey: CodingKey>(keyedBy keyType: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
    child().container(keyedBy: keyType)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { child().unkeyedContainer() }

  func superEncoder() -> any Encoder { child() }

  private func child() -> ObjectEncoder {
    let child = encoder.child(.index(count))
    encoder.node.append(.node(child.node))
    return child
  }
}
