internal import HearthModel

extension Value {
  /// True for a vector as SDKs write it: its type and its numbers, which are doubles, and nothing else.
  ///
  /// To `Value/isVector`, and so to the order of values, a map with its type and any array is a vector.
  var isPlainVector: Bool {
    guard isVector, case .map(let map) = self, map.count == 2, case .array(let elements)? = map["value"] else {
      return false
    }
    return elements.allSatisfy { if case .double = $0 { true } else { false } }
  }

  /// True if the value is a vector of another form, or holds one.
  var hasUnusualVector: Bool {
    switch self {
    case .array(let elements): elements.contains(where: \.hasUnusualVector)
    case .map(let map): isVector ? !isPlainVector : map.entries.contains { $0.value.hasUnusualVector }
    default: false
    }
  }
}
