internal import Foundation
package import HearthModel

extension MapValue {
  /// The members of a JSON object, as a token has them: integers are integers, all other numbers are doubles.
  ///
  /// - Returns: Nil for anything else than a JSON object.
  package init?(claims json: [UInt8]) {
    guard json.nesting <= Self.largestNesting, let value = try? JSONDecoder().decode(ClaimValue.self, from: Data(json)),
      case .map(let map) = value.value
    else { return nil }
    self = map
  }
}

extension MapValue {
  /// Objects and arrays within each other. Reading one takes a part of the stack.
  fileprivate static let largestNesting = 32
}

extension [UInt8] {
  /// The number of brackets and braces within each other, at most; also of those in texts.
  fileprivate var nesting: Int {
    var (depth, largest) = (0, 0)
    for byte in self {
      switch byte {
      case UInt8(ascii: "["), UInt8(ascii: "{"):
        depth += 1
        largest = Swift.max(largest, depth)
      case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
      default: break
      }
    }
    return largest
  }
}

/// A value of a token's JSON.
private struct ClaimValue: Decodable {
  let value: Value

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      value = .null
    } else if let flag = try? container.decode(Bool.self) {
      value = .boolean(flag)
    } else if let number = try? container.decode(Int64.self) {
      value = .integer(number)
    } else if let number = try? container.decode(Double.self) {
      value = .double(number)
    } else if let text = try? container.decode(String.self) {
      value = .string(text)
    } else if let elements = try? container.decode([ClaimValue].self) {
      value = .array(elements.map(\.value))
    } else {
      value = .map(MapValue(try container.decode([String: ClaimValue].self).mapValues(\.value)))
    }
  }
}
