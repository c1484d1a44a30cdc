internal import HearthModel

/// The reason why a request is refused before it is carried out, in the words of Google's servers.
package struct RESTFailure: Error {
  var message: String
  /// The place in the request; nil if it is not about one.
  var field: String?

  /// A name in JSON or in the query that the message does not have.
  static func unknown(_ name: String, at place: String) -> RESTFailure {
    let shown = place.isEmpty ? "" : " at '\(place)'"
    return RESTFailure(
      message: "Invalid JSON payload received. Unknown name \"\(name.prefix(200))\"\(shown): Cannot find field.",
      field: place.isEmpty ? nil : place)
  }

  /// - Parameter shown: The value as JSON.
  static func value(at place: String, type: String, _ shown: String) -> RESTFailure {
    RESTFailure(message: "Invalid value at '\(place)' (\(type)), \(shown)", field: place)
  }

  static func invalid(at place: String, _ reason: String) -> RESTFailure {
    RESTFailure(
      message: place.isEmpty ? reason : "Invalid value at '\(place)': \(reason)", field: place.isEmpty ? nil : place)
  }

  static func oneof(_ oneof: String, alreadySetBefore name: String, at place: String) -> RESTFailure {
    RESTFailure(
      message: (place.isEmpty ? "Invalid value" : "Invalid value at '\(place)'")
        + " (oneof), oneof field '\(oneof)' is already set. Cannot set '\(name)'",
      field: place.isEmpty ? nil : place)
  }

  /// Text that is not the JSON of a message.
  static func syntax(_ reason: String) -> RESTFailure {
    RESTFailure(message: "Invalid JSON payload received. \(reason)", field: nil)
  }

  /// INVALID_ARGUMENT with `google.rpc.BadRequest`.
  var status: StatusError {
    var violation = WireWriter()
    if let field { violation.writeString(field, field: 1) }
    violation.writeString(message, field: 2)
    var detail = WireWriter()
    detail.writeBytes(violation.bytes, field: 1)
    return StatusError(
      code: .invalidArgument, message: message,
      details: [StatusError.Detail(typeName: "google.rpc.BadRequest", bytes: detail.bytes)])
  }
}

extension StatusCode {
  /// The status of HTTP that stands for it (google/rpc/code.proto, "HTTP Mapping").
  var httpStatus: Int {
    switch self {
    case .ok: 200
    case .invalidArgument, .failedPrecondition, .outOfRange: 400
    case .unauthenticated: 401
    case .permissionDenied: 403
    case .notFound: 404
    case .alreadyExists, .aborted: 409
    case .resourceExhausted: 429
    case .cancelled: 499
    case .unknown, .internal, .dataLoss: 500
    case .unimplemented: 501
    case .unavailable: 503
    case .deadlineExceeded: 504
    }
  }
}

extension CallStatus {
  /// Writes `{"error": {…}}` as Google's servers do.
  ///
  /// - Parameter httpStatus: The status of HTTP, if it is another one than the code stands for.
  func write(to output: inout JSONOutput, httpStatus: Int? = nil) {
    output.beginObject()
    output.name("error")
    output.beginObject()
    output.name("code")
    output.raw(String(httpStatus ?? code.httpStatus))
    output.name("message")
    output.string(message)
    output.name("status")
    output.string(code.description)
    writeDetails(to: &output)
    output.endObject()
    output.endObject()
  }

  private func writeDetails(to output: inout JSONOutput) {
    guard !details.isEmpty, let any = ProtoSchema.server.index(of: "google.protobuf.Any") else { return }
    var written = output
    let isWritten = details.withUnsafeBytes { bytes -> Bool in
      do throws(WireFormatError) {
        written.name("details")
        written.beginArray()
        var reader = WireReader(bytes)
        while let tag = try reader.readTag("Status") {
          guard tag == WireTag(field: 3, type: .lengthDelimited) else {
            try reader.skip(tag, "Status")
            continue
          }
          written.element()
          try JSONEncoding(schema: .server).write(try reader.readMessage("Status"), of: any, to: &written, depth: 0)
        }
        written.endArray()
        return true
      } catch {
        return false
      }
    }
    if isWritten { output = written }
  }
}
