internal import HearthModel
internal import NIOCore
internal import Synchronization

/// A call of a method through one of its HTTP bindings.
final class RESTCall: CallTranscoder {
  private let binding: HTTPBinding
  private let values: [String]
  private let parameters: [(name: String, value: String)]
  private let format: RESTParameters.Format
  private let isPretty: Bool
  private let isBodyEncoded: Bool
  private let hasNoBody: Bool
  private let headers: [(name: String, value: String)]
  /// True once a response was added.
  private let isBegun = Mutex(false)

  /// - Parameters:
  ///   - values: The values of the path's variables.
  ///   - isBodyEncoded: The body is a message on the wire.
  ///   - hasNoBody: The response has a head only.
  ///   - headers: The headers of every response to this client.
  init(
    _ binding: HTTPBinding, values: [String], parameters: RESTParameters, isBodyEncoded: Bool, hasNoBody: Bool,
    headers: [(name: String, value: String)]
  ) {
    self.binding = binding
    self.values = values
    self.parameters = parameters.fields
    format = parameters.format
    isPretty = parameters.isPretty && parameters.format == .json
    self.isBodyEncoded = isBodyEncoded
    self.hasNoBody = hasNoBody
    self.headers = headers
  }

  // MARK: - The request

  func request(from body: ByteBuffer) throws -> ByteBuffer {
    do {
      return ByteBuffer(bytes: try fields(from: body).bytes)
    } catch {
      throw error.status
    }
  }

  private func fields(from body: ByteBuffer) throws(RESTFailure) -> RequestFields {
    let decoding = JSONDecoding(schema: .server)
    var fields = RequestFields(of: binding.request, decoding: decoding)
    let content = Array(body.readableBytesView)
    if case .none = binding.body {
      guard content.isEmpty else { throw .syntax("The method takes no body.") }
    } else if !content.isEmpty {
      try fields.setBody(binding.body) { (message, place) throws(RESTFailure) in
        isBodyEncoded ? content : try decoding.message(message, from: content[...], at: place)
      }
    }
    for (variable, value) in zip(binding.template.variables, values) {
      try fields.set(variable.path[...], to: value, name: variable.path.joined(separator: "."))
    }
    for (name, value) in parameters {
      // A field in the body cannot be in the query too (google/api/http.proto).
      guard binding.body != .whole else { throw .unknown(name, at: "") }
      try fields.set(name.split(separator: ".", omittingEmptySubsequences: false)[...], to: value, name: name)
    }
    return fields
  }

  // MARK: - The response

  func add(_ response: [UInt8], to body: inout ByteBuffer) throws {
    guard !hasNoBody else { return }
    let isFirst = isBegun.withLock { isBegun in
      defer { isBegun = true }
      return !isBegun
    }
    if case .binary = format {
      body.writeBytes(response)
      return
    }
    // Large messages are texts of documents, and have about the same size in JSON.
    var output = JSONOutput(isPretty: isPretty, expectedCount: response.count + response.count / 8 + 256)
    try response.withUnsafeBytes { bytes in
      try JSONEncoding(schema: .server).write(bytes, of: binding.response, to: &output)
    }
    add(output.bytes, isFirst: isFirst, to: &body)
  }

  private func add(_ json: [UInt8], isFirst: Bool, to body: inout ByteBuffer) {
    switch format {
    case .events: body.writeString("data: ")
    case .json where binding.isStream: body.writeString(isFirst ? "[" : ",\n")
    case .json, .binary: break
    }
    body.writeBytes(json)
    switch format {
    case .events: body.writeString("\r\n\r\n")
    case .json: if !binding.isStream || isPretty { body.writeString("\n") }
    case .binary: break
    }
  }

  var head: WebResponse {
    let type =
      switch format {
      case .json: "application/json; charset=UTF-8"
      case .events: "text/event-stream"
      case .binary: "application/x-protobuf"
      }
    return WebResponse(status: 200, headers: [("content-type", type)] + headers)
  }

  func end(_ status: CallStatus, isBegun: Bool) -> WebResponse {
    if status.code == .ok {
      var end = head
      // No line end behind the bracket: Google's Python client takes every byte after it for the beginning of another array.
      if format == .json, binding.isStream, !hasNoBody { end.body.writeString(isBegun ? "]" : "[]") }
      return end
    }
    var error = JSONOutput(isPretty: isPretty || format == .binary)
    status.write(to: &error)
    guard isBegun || binding.isStream else { return .error(status, headers) }
    var end = WebResponse(status: status.code.httpStatus, headers: [head.headers[0]] + headers)
    guard !hasNoBody else { return end }
    add(error.bytes, isFirst: !isBegun, to: &end.body)
    if format == .json { end.body.writeString("]") }
    return end
  }
}

extension WebResponse {
  /// The error of a call or a request as Google's servers write it.
  package static func error(
    _ status: CallStatus, httpStatus: Int? = nil, _ headers: [(name: String, value: String)]
  ) -> WebResponse {
    var output = JSONOutput(isPretty: true)
    status.write(to: &output, httpStatus: httpStatus)
    var response = WebResponse(
      status: httpStatus ?? status.code.httpStatus,
      headers: [("content-type", "application/json; charset=UTF-8")] + headers)
    response.body.writeBytes(output.bytes)
    response.body.writeString("\n")
    return response
  }

  package static func text(_ text: String, _ headers: [(name: String, value: String)]) -> WebResponse {
    var response = WebResponse(status: 200, headers: [("content-type", "text/plain; charset=UTF-8")] + headers)
    response.body.writeString(text)
    return response
  }
}
