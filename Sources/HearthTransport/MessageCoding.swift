internal import GRPCCore
internal import GRPCProtobuf
internal import SwiftProtobuf

/// Reads protobuf messages. Malformed bytes are an `internal` error, because the backend is at fault. (The deserializer of GRPCProtobuf
/// throws `invalidArgument`, which from a backend means that the request is malformed.)
struct IncomingMessageDeserializer<Message: SwiftProtobuf.Message>: MessageDeserializer {
  private let base = ProtobufDeserializer<Message>()

  func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> Message {
    do {
      return try base.deserialize(bytes)
    } catch {
      throw RPCError(
        code: .internalError,
        message: "The backend sent \(bytes.count) bytes that are not a \(Message.protoMessageName) message.")
    }
  }
}

/// A message with its size on the wire.
struct SizedMessage<Message: Sendable>: Sendable {
  var message: Message
  var byteCount: Int
}

/// Reads messages as ``IncomingMessageDeserializer`` does, and reports their sizes.
struct SizedMessageDeserializer<Message: SwiftProtobuf.Message>: MessageDeserializer {
  private let base = IncomingMessageDeserializer<Message>()

  func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> SizedMessage<Message> {
    SizedMessage(message: try base.deserialize(bytes), byteCount: bytes.count)
  }
}

extension GRPCContiguousBytes {
  fileprivate var count: Int { withUnsafeBytes { $0.count } }
}
