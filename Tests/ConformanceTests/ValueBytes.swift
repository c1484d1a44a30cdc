import Foundation
import HearthModel
import HearthWire
import SwiftProtobuf

extension JSON {
  /// The same message in protobuf's JSON form with base64 in place of the values that our messages carry as bytes: operands of
  /// filters, positions of cursors and elements of array transforms.
  func withValueBytes() throws -> JSON {
    switch self {
    case .array(let elements):
      return .array(try elements.map { try $0.withValueBytes() })
    case .object(let members):
      var result: [String: JSON] = [:]
      for (name, member) in members {
        result[name] =
          switch name {
          case "fieldFilter":
            try member.with("value", Self.base64(value: member.required("value")))
          case "startAt", "endAt":
            member.with(
              "values",
              .array(try (member["values"]?.elements ?? []).map { try Self.base64(value: $0) })
            )
          case "appendMissingElements", "removeAllFromArray":
            try Self.base64(array: member)
          default: try member.withValueBytes()
          }
      }
      return .object(result)
    default:
      return self
    }
  }

  private static func base64(value json: JSON) throws -> JSON {
    let message = try Google_Firestore_V1_Value(jsonString: json.text)
    return .string(Data(try Value(encoded: message.serializedBytes()).encoded()).base64EncodedString())
  }

  private static func base64(array json: JSON) throws -> JSON {
    let message = try Google_Firestore_V1_ArrayValue(jsonString: json.text)
    return .string(Data(Value.encodedArray(try Value.decodedArray(message.serializedBytes()))).base64EncodedString())
  }
}
