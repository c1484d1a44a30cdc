internal import HearthModel
internal import NIOCore

/// REST/JSON for the methods of Firestore, and the few requests that Google's emulator answers beside.
///
/// What it refuses by itself never reaches a method: requests of pages that may not use the server (``WebAccess``), paths that nothing is
/// bound to, bodies in forms that it does not read.
struct RESTService: WebService {
  private let access: WebAccess
  private let bindings: [HTTPBinding]
  private let methods: [String: CallMethod]
  /// Nil if nobody may.
  private let clear: CallMethod?
  /// Ends the server; nil if nobody may.
  private let shutDown: (@Sendable () -> Void)?

  /// - Parameters:
  ///   - methods: Those of `google.firestore.v1.Firestore`.
  ///   - clear: Deletes all documents of a database; its request is the name of the place to clear. Nil if that is not allowed.
  ///   - shutDown: Ends the server on `POST /shutdown`; nil if that is not allowed.
  init(access: WebAccess, methods: [CallMethod], clear: CallMethod?, shutDown: (@Sendable () -> Void)?) {
    self.access = access
    self.clear = clear
    self.shutDown = shutDown
    bindings = HTTPBinding.all(of: FirestoreMethods.service, in: .server, .server)
    self.methods = Dictionary(methods.map { ($0.name, $0) }) { first, _ in first }
  }

  private enum FirestoreMethods {
    static let service = "google.firestore.v1.Firestore"
  }

  private static let usualHeaders = [
    (name: "vary", value: "Origin"), (name: "cache-control", value: "private"),
    (name: "x-content-type-options", value: "nosniff"),
  ]

  func refusal(_ status: CallStatus, httpStatus: Int?) -> WebResponse {
    .error(status, httpStatus: httpStatus, Self.usualHeaders)
  }

  func exchange(for request: WebRequest) -> WebExchange {
    guard access.accepts(host: request.host) else {
      return refuse(
        .permissionDenied,
        "The server is not known by the name \"\((request.host ?? "").prefix(200))\" (header Host). It can be allowed with "
          + "--allow-host.")
    }
    var headers = Self.usualHeaders
    if let origin = request["origin"] {
      guard access.accepts(origin: origin) else {
        return refuse(
          .permissionDenied,
          "Pages of \"\(origin.prefix(200))\" may not use this server (header Origin). They can be allowed with "
            + "--allow-origin.")
      }
      headers += [("access-control-allow-origin", origin), ("access-control-allow-credentials", "true")]
    }
    if request.verb == "OPTIONS" { return .answer(Self.preflight(request, headers)) }
    let parts = request.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let path = parts.first ?? ""
    do throws(RESTFailure) {
      return try exchange(for: request, path, query: parts.count > 1 ? parts[1] : "", headers)
    } catch {
      return .answer(.error(CallStatus(describing: error.status), headers))
    }
  }

  private func refuse(_ code: StatusCode, _ message: String) -> WebExchange {
    .answer(.error(CallStatus(code, message), Self.usualHeaders))
  }

  /// The answer to a browser's question about a request that a page wants to make (https://fetch.spec.whatwg.org/#http-cors-protocol).
  private static func preflight(_ request: WebRequest, _ headers: [(name: String, value: String)]) -> WebResponse {
    var headers = headers + [("allow", "DELETE, GET, HEAD, OPTIONS, PATCH, POST")]
    if request["origin"] != nil {
      headers.append(("access-control-allow-methods", "DELETE, GET, HEAD, PATCH, POST"))
      headers.append(("access-control-max-age", "3600"))
      if let wanted = request["access-control-request-headers"] {
        headers.append(("access-control-allow-headers", wanted))
      }
      if request["access-control-request-private-network"] == "true" {
        headers.append(("access-control-allow-private-network", "true"))
      }
    }
    return WebResponse(status: 204, headers: headers)
  }

  // MARK: - Paths

  private func exchange(
    for request: WebRequest, _ path: Substring, query: Substring, _ headers: [(name: String, value: String)]
  ) throws(RESTFailure) -> WebExchange {
    switch (request.verb, path) {
    case ("GET", "/"), ("HEAD", "/"):
      return .answer(.text(request.verb == "GET" ? "Ok\n" : "", headers))
    case ("POST", "/shutdown"):
      guard let shutDown else {
        return .answer(
          .error(
            CallStatus(.permissionDenied, "The server may not be ended this way; --allow-shutdown allows it."), headers)
        )
      }
      shutDown()
      return .answer(.text("Shutting down.\n", headers))
    case ("DELETE", let path) where path.hasPrefix(Self.emulatorPath):
      guard let clear else {
        return .answer(
          .error(
            CallStatus(
              .permissionDenied,
              "Databases that are kept on disk may not be cleared this way; --allow-clear allows it."), headers))
      }
      let name = try PercentEncoding.decoded(path.dropFirst(Self.emulatorPath.count), keepsSlashes: true, at: "path")
      return .call(clear, request.metadata, ClearCall(name: name, headers: headers))
    default:
      return try call(request, path, query: query, headers)
    }
  }

  private static let emulatorPath = "/emulator/v1/"

  private func call(
    _ request: WebRequest, _ path: Substring, query: Substring, _ headers: [(name: String, value: String)]
  ) throws(RESTFailure) -> WebExchange {
    let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    guard let (binding, values) = try match(request.verb == "HEAD" ? "GET" : request.verb, segments),
      let method = methods[binding.method]
    else {
      let allowed = try otherVerbs(segments)
      if !allowed.isEmpty {
        return .answer(
          .error(
            CallStatus(.unimplemented, "The path takes \(allowed.joined(separator: ", "))."), httpStatus: 405,
            headers + [("allow", allowed.joined(separator: ", "))]))
      }
      if let reason = UnservedCalls.reason(path: path) {
        return .answer(.error(CallStatus(.unimplemented, reason), headers))
      }
      return .answer(
        .error(CallStatus(.notFound, "Nothing is served at \(request.verb.prefix(20)) \(path.prefix(200))."), headers))
    }
    if let encoding = request["content-encoding"], encoding != "identity" {
      return .answer(
        .error(
          CallStatus(.invalidArgument, "A body with content-encoding \"\(encoding.prefix(100))\" cannot be read."),
          httpStatus: 415, headers))
    }
    let parameters = try RESTParameters(query: query)
    if parameters.format == .binary, binding.isStream {
      throw .invalid(at: "alt", "The responses of a stream cannot be answered as proto; choose json or sse.")
    }
    var metadata = request.metadata
    if let token = parameters.accessToken, request["authorization"] == nil {
      metadata.add(name: "authorization", value: "Bearer \(token)")
    }
    let type = request["content-type"]?.prefix { $0 != ";" && $0 != " " }.lowercased() ?? ""
    return .call(
      method, metadata,
      RESTCall(
        binding, values: values, parameters: parameters,
        isBodyEncoded: type == "application/x-protobuf" || type == "application/protobuf",
        hasNoBody: request.verb == "HEAD", headers: headers))
  }

  /// The binding of a path. Of several that match, the first that names documents and collections as such.
  private func match(_ verb: String, _ path: [Substring]) throws(RESTFailure) -> (HTTPBinding, [String])? {
    var second: (HTTPBinding, [String])?
    for binding in bindings where binding.verb == verb {
      guard let match = try binding.template.match(path) else { continue }
      if match.namesDocuments { return (binding, match.values) }
      if second == nil { second = (binding, match.values) }
    }
    return second
  }

  private func otherVerbs(_ path: [Substring]) throws(RESTFailure) -> [String] {
    var verbs: Set<String> = []
    for binding in bindings where try binding.template.match(path)?.namesDocuments ?? false {
      verbs.insert(binding.verb)
    }
    return verbs.sorted()
  }
}

/// The emulator's request to delete all documents of a database, or below one of its documents.
private struct ClearCall: CallTranscoder {
  /// Such as `projects/p/databases/(default)/documents`.
  let name: String
  let headers: [(name: String, value: String)]

  func request(from body: ByteBuffer) -> ByteBuffer { ByteBuffer(string: name) }

  func add(_ response: [UInt8], to body: inout ByteBuffer) {}

  var head: WebResponse {
    var response = WebResponse(status: 200, headers: [("content-type", "application/json; charset=UTF-8")] + headers)
    response.body.writeString("{}\n")
    return response
  }

  func end(_ status: CallStatus, isBegun: Bool) -> WebResponse {
    status.code == .ok ? head : .error(status, headers)
  }
}
