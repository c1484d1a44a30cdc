internal import HearthModel
internal import HearthRPC
internal import NIOCore

/// A request at one of the emulator's own paths as the bytes of a call: the name in the path, a line feed, and the body.
///
/// The call's responses are the body of the answer; without one it is an empty object.
struct EmulatorCall: CallTranscoder {
  /// Such as `projects/p/databases/(default)/documents`.
  let name: String
  var contentType = "application/json; charset=UTF-8"
  let headers: [(name: String, value: String)]

  func request(from body: ByteBuffer) -> ByteBuffer {
    var request = ByteBuffer(string: name.replacing("\n", with: " ") + "\n")
    request.writeImmutableBuffer(body)
    return request
  }

  static func parts(of request: ByteBuffer) -> (name: String, body: [UInt8]) {
    let bytes = Array(request.readableBytesView)
    let end = bytes.firstIndex(of: UInt8(ascii: "\n")) ?? bytes.endIndex
    return (String(decoding: bytes[..<end], as: UTF8.self), Array(bytes[end...].dropFirst()))
  }

  func add(_ response: [UInt8], to body: inout ByteBuffer) { body.writeBytes(response) }

  var head: WebResponse { WebResponse(status: 200, headers: [("content-type", contentType)] + headers) }

  func end(_ status: CallStatus, isBegun: Bool) -> WebResponse {
    guard status.code == .ok else { return .error(status, headers) }
    var response = head
    if !isBegun { response.body.writeString("{}\n") }
    return response
  }
}
