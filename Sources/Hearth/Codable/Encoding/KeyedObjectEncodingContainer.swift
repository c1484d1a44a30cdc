internal import Foundation

/// Writes the fields of a map.
struct KeyedObjectEncodingContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let encoder: ObjectEncoder

  var codingPath: [any CodingKey] { encoder.codingPath }

  private func set(_ object: Any, _ key: Key) {
    encoder.node.set(.object(object), for: encoder.context.name(of: key, in: encoder))
  }

  func encodeNil(forKey key: Key) { set(NSNull(), key) }
  func encode(_ value: Bool, forKey key: Key) { set(NSNumber(value: value), key) }
  func encode(_ value: String, forKey key: Key) { set(value, key) }
  func encode(_ value: Double, forKey key: Key) throws {
    set(try encoder.context.number(value, at: codingPath + [key]), key)
  }
  func encode(_ value: Float, forKey key: Key) throws {
    set(try encoder.context.number(value, at: codingPath + [key]), key)
  }
  func encode(_ value: Int, forKey key: Key) { set(NSNumber(value: value), key) }
  func encode(_ value: Int8, forKey key: Key) { set(NSNumber(value: value), key) }
  func encode(_ value: Int16, forKey key: Key) { set(NSNumber(value: value), key) }
  func encode(_ value: Int32, forKey key: Key) { set(NSNumber(value: value), key) }
  func encode(_ value: Int64, forKey key: Key) { set(NSNumber(value: value), key) }
  func encode(_ value: UInt, forKey key: Key) { set(NSNumber(value: value), key) }
  func encode(_ value: UInt8, forKey key: Key) { set(NSNumber(value: value), key) }
  func encode(_ value: UInt16, forKey key: Key) { set(NSNumber(value: value), key) }
  func encode(_ value: UInt32, forKey key: Key) { set(NSNumber(value: value), key) }
  func encode(_ value: UInt64, forKey key: Key) { set(NSNumber(value: value), key) }

  func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
    if value is any StructureCodingUncodedUnkeyed { return }
    let object = try encoder.context.encode(value, below: encoder, .key(key))
    encoder.node.set(object, for: encoder.context.name(of: key, in: encoder))
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy keyType: NestedKey.Type, forKey key: Key
  ) -> KeyedEncodingContainer<NestedKey> {
    child(key).container(keyedBy: keyType)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { child(key).unkeyedContainer() }

  func superEncoder() -> any Encoder {
    let child = encoder.child(.key(StoredKey.super))
    encoder.node.set(.node(child.node), for: encoder.context.name(of: StoredKey.super, in: encoder))
    return child
  }

  func superEncoder(forKey key: Key) -> any Encoder { child(key) }

  /// An encoder for the value of a key; a second one continues where the first one ended.
  private func child(_ key: Key) -> ObjectEncoder {
    let name = encoder.context.name(of: key, in: encoder)
    let child = encoder.child(.key(key), encoder.node.node(for: name) ?? EncodingNode())
    encoder.node.set(.node(child.node), for: name)
    return child
  }
}
