internal import Foundation
package import HearthModel
internal import NIOHPACK

/// The status with which a call ends, in its trailers.
package struct CallStatus: Error {
  package var code: StatusCode
  package var message: String
  /// An encoded `google.rpc.Status`, sent as `grpc-status-details-bin`; none if empty.
  package var details: [UInt8]
  /// Further trailers. Values of names that end in `-bin` are encoded in base64 already.
  package var metadata: [(name: String, value: String)]
  /// The limit whose excess ends the call; counted when it does.
  package var exceeded: ServerLimit?

  package init(
    _ code: StatusCode, _ message: String, details: [UInt8] = [], metadata: [(name: String, value: String)] = []
  ) {
    self.code = code
    self.message = message
    self.details = details
    self.metadata = metadata
  }

  /// The end of a call that exceeds a limit.
  package init(_ code: StatusCode, _ message: String, exceeding limit: ServerLimit) {
    self.init(code, message)
    exceeded = limit
  }

  static let ok = CallStatus(.ok, "")
  static let cancelled = CallStatus(.cancelled, "The call was cancelled.")

  /// A status travels in HTTP headers, percent-encoded, and clients refuse more than 8 to 16 KiB of those: they would
  /// see a broken stream, and retry forever, instead of the error. The longest legal document name is 6 KiB.
  private static let maximumMessageBytes = 2048

  /// The error as it is sent: its code, and as much of its text as fits.
  package init(describing error: any Error) {
    if let status = error as? CallStatus {
      self = status
      return
    }
    let status = StatusError(describing: error)
    let (code, message) = (status.code == .ok ? .unknown : status.code, Self.shortened(status.message))
    var details = status.details
    // Trouble that passes. Clients of Google's libraries wait as long before they try again.
    if details.isEmpty, code == .unavailable || code == .resourceExhausted { details = [Self.retryInfo] }
    self.init(code, message, details: Self.encoded(code, message, details))
  }

  /// `google.rpc.RetryInfo` of a second.
  private static let retryInfo = StatusError.Detail(typeName: "google.rpc.RetryInfo", bytes: [0x0A, 2, 0x08, 1])

  /// The message `google.rpc.Status`; nothing without details, because the other trailers say the rest.
  private static func encoded(_ code: StatusCode, _ message: String, _ details: [StatusError.Detail]) -> [UInt8] {
    guard !details.isEmpty else { return [] }
    var writer = WireWriter()
    writer.writeVarint(Int64(code.rawValue), field: 1)
    writer.writeString(message, field: 2)
    for detail in details {
      var any = WireWriter()
      any.writeString("type.googleapis.com/\(detail.typeName)", field: 1)
      any.writeBytes(detail.bytes, field: 2)
      writer.writeBytes(any.bytes, field: 3)
    }
    return writer.bytes
  }

  private static func shortened(_ message: String) -> String {
    guard message.utf8.count > maximumMessageBytes else { return message }
    // A scalar that the cut goes through is left out.
    return String(message[..<message.utf8.index(message.startIndex, offsetBy: maximumMessageBytes)]) + "…"
  }

  /// Adds the status to the last headers of a stream.
  func write(to headers: inout HPACKHeaders) {
    headers.add(name: "grpc-status", value: String(code.rawValue))
    if !message.isEmpty { headers.add(name: "grpc-message", value: Self.percentEncoded(Self.shortened(message))) }
    if !details.isEmpty {
      let text = Data(details).base64EncodedString()
      headers.add(name: "grpc-status-details-bin", value: String(text.prefix { $0 != "=" }))
    }
    for (name, value) in metadata { headers.add(name: name, value: value) }
  }

  /// Space to tilde stand for themselves, except for the percent sign
  /// (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, "Status-Message").
  static func percentEncoded(_ text: String) -> String {
    func isPlain(_ byte: UInt8) -> Bool { (0x20...0x7e).contains(byte) && byte != UInt8(ascii: "%") }
    guard !text.utf8.allSatisfy(isPlain) else { return text }
    let digits = Array("0123456789ABCDEF".utf8)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count + 16)
    for byte in text.utf8 {
      if isPlain(byte) {
        bytes.append(byte)
      } else {
        bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
