/// Recognises dictionaries with string keys, whose keys are data rather than names of properties: key strategies leave
/// them alone.
protocol StringKeyedDictionary {
  /// Decodes the dictionary under the stored names; nil if its elements cannot be decoded at all.
  static func decode(with decoder: StoredDecoder) throws -> Any?
}

extension Dictionary: StringKeyedDictionary where Key == String {
  static func decode(with decoder: StoredDecoder) throws -> Any? {
    guard let elementType = Value.self as? any Decodable.Type else { return nil }
    var result: [String: Value] = [:]
    try decoder.forEachStoredEntry { name, value in
      let step = CodingStep.key(StoredKey(name))
      guard let element = try decoder.decodeErased(elementType, value, step) as? Value else { return }
      result[name] = element
    }
    return result
  }
}

extension StoredDecoder {
  /// Calls `body` with all entries of the map at this decoder's place, under their stored names.
  fileprivate func forEachStoredEntry(_ body: (String, StoredValue) throws -> Void) throws {
    let map = try storedMap(for: [String: Any].self)
    for name in try reportingDamage(nil, map.keys) {
      if let value = map.value(forKey: name) { try body(name, value) }
    }
  }

  fileprivate func decodeErased<T: Decodable>(_ type: T.Type, _ value: StoredValue, _ step: CodingStep) throws -> Any {
    try decode(type, from: value, step) { try child(value, step) }
  }
}
