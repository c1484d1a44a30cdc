package import HearthModel
package import HearthRules

extension RuleMap {
  /// The fields of a document as rules see them, without values of the model in between.
  package init(_ fields: EncodedFields) throws(WireFormatError) {
    var members: [(key: ExactText, value: RuleValue)] = []
    try fields.forEachField { name, value throws(WireFormatError) in
      members.append((ExactText(name), try RuleValue(value, depth: 1)))
    }
    self.init(fields: members)
  }
}

extension RuleValue {
  /// The same as `RuleValue` of the decoded value, with the same errors.
  ///
  /// - Parameter depth: The number of arrays and maps around it.
  fileprivate init(_ encoded: EncodedValue, depth: Int) throws(WireFormatError) {
    switch encoded.payload {
    case .null: self = .null
    case .boolean(let flag): self = .bool(flag)
    case .integer(let number): self = .int(number)
    case .double(let number): self = .float(number)
    case .timestamp(let time): self = .timestamp(RuleTimestamp(time))
    case .string(let contents): self = .string(try contents.remainingString("Value.string_value"))
    case .bytes(let contents): self = .bytes(Array(contents))
    case .array(let message):
      var items: [RuleValue] = []
      try EncodedValue.forEachElement(of: message, depth: depth) { element throws(WireFormatError) in
        items.append(try RuleValue(element, depth: depth + 1))
      }
      self = .list(items)
    case .map(let message):
      var members: [(key: ExactText, value: RuleValue)] = []
      try EncodedValue.forEachEntry(of: message, depth: depth) { name, value throws(WireFormatError) in
        members.append((ExactText(name), try RuleValue(value, depth: depth + 1)))
      }
      self = .map(RuleMap(fields: members))
    // These are rare, or have parts that are checked as the model does it.
    case .pendingServerTimestamp, .reference, .geoPoint, .vector: self.init(try encoded.decoded(depth: depth))
    }
  }
}
