package import HearthModel
internal import SwiftProtobuf

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

extension WireTranslator {
  /// The message for an error; `nil` stands for success.
  package func encode(_ error: StatusError?) -> Google_Rpc_Status {
    guard let error else { return Google_Rpc_Status() }
    var message = Google_Rpc_Status()
    message.code = Int32(clamping: error.code.rawValue)
    message.message = error.message
    message.details = error.details.map { detail in
      var any = Google_Protobuf_Any()
      any.typeURL = "type.googleapis.com/\(detail.typeName)"
      any.value = Data(detail.bytes)
      return any
    }
    return message
  }

  /// The error of `message`, or `nil` when its code is 0. A code that does not exist counts as `unknown`,
  /// as gRPC prescribes.
  package func decode(_ message: Google_Rpc_Status) -> StatusError? {
    guard message.code != 0 else { return nil }
    return StatusError(code: StatusCode(rawValue: Int(message.code)) ?? .unknown, message: message.message)
  }
}
