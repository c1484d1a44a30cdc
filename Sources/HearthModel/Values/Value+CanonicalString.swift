extension Value {
  /// A text that is equal for two values exactly when they are equal by `==`: every part is tagged with its type, and parts of variable
  /// length are preceded by it. For keys of queries, not for people.
  package var canonicalString: String {
    var text = ""
    appendCanonicalString(to: &text)
    return text
  }

  private func appendCanonicalString(to text: inout String) {
    switch self {
    case .null: text += "n"
    case .boolean(let value): text += value ? "b1" : "b0"
    case .integer(let number): text += "i\(number)"
    case .double(let number): text += "d" + String(number.normalizedBits, radix: 16)
    case .timestamp(let timestamp): text += "t\(timestamp.seconds).\(timestamp.nanoseconds)"
    case .pendingServerTimestamp(let localWriteTime, let previousValue):
      text += "p\(localWriteTime.seconds).\(localWriteTime.nanoseconds)("
      previousValue?.appendCanonicalString(to: &text)
      text += ")"
    case .string(let string): text += "s\(string.utf8.count):\(string)"
    case .bytes(let bytes):
      text += "x\(bytes.count):"
      for byte in bytes {
        text += byte < 16 ? "0" : ""
        text += String(byte, radix: 16)
      }
    case .reference(let reference):
      let name = reference.name
      text += "r\(name.utf8.count):\(name)"
    case .geoPoint(let point):
      text += "g" + String(point.latitude.zeroNormalizedBits, radix: 16)
      text += "," + String(point.longitude.zeroNormalizedBits, radix: 16)
    case .array(let elements):
      text += "a["
      for element in elements {
        element.appendCanonicalString(to: &text)
        text += ","
      }
      text += "]"
    case .map(let map):
      text += "m{"
      for entry in map.entries {
        text += "\(entry.key.utf8.count):\(entry.key)="
        entry.value.appendCanonicalString(to: &text)
        text += ","
      }
      text += "}"
    }
  }
}

extension Double {
  /// The bits of the number, the same for every NaN and for both zeros.
  fileprivate var zeroNormalizedBits: UInt64 { isZero ? 0 : normalizedBits }
}

extension Value: CustomStringConvertible {
  /// A text for people: messages, logs and test failures.
  package var description: String {
    switch self {
    case .null: "null"
    case .boolean(let value): "\(value)"
    case .integer(let number): "\(number)"
    case .double(let number): "\(number)"
    case .timestamp(let timestamp): "timestamp(\(timestamp))"
    case .pendingServerTimestamp(let localWriteTime, _): "serverTimestamp(pending since \(localWriteTime))"
    case .string(let string): "\"\(string)\""
    case .bytes(let bytes): "bytes(\(bytes.count))"
    case .reference(let reference): "reference(\(reference))"
    case .geoPoint(let point): "geoPoint(\(point.latitude), \(point.longitude))"
    case .array(let elements): "[" + elements.map(\.description).joined(separator: ", ") + "]"
    case .map(let map): map.description
    }
  }
}

extension MapValue: CustomStringConvertible {
  package var description: String {
    "{" + entries.map { "\($0.key): \($0.value)" }.joined(separator: ", ") + "}"
  }
}
