internal import HearthModel
internal import NIOCore

/// REST/JSON for the methods of a service, which are bound to paths by `google.api.http`.
///
/// These requests are refused before they reach a method: requests of pages that may not use the server (``WebAccess``), paths without a
/// binding, and bodies in an unsupported form.
package struct RESTService: WebService {
  private let access: WebAccess
  private let bindings: [HTTPBinding]
  private let methods: [String: CallMethod]
  private let paths: any RESTPaths

  /// - Parameters:
  ///   - service: The full name of the service.
  ///   - methods: The methods of the service.
  ///   - paths: Answers for paths that no binding matches.
  package init(access: WebAccess, service: String, methods: [CallMethod], paths: any RESTPaths) {
    self.access = access
    self.paths = paths
    bindings = HTTPBinding.all(of: service, in: .server, .server)
    self.methods = Dictionary(methods.map { ($0.name, $0) }) { first, _ in first }
  }

  private static let usualHeaders = [
    (name: "vary", value: "Origin"), (name: "cache-control", value: "private"),
    (name: "x-content-type-options", value: "nosniff"),
  ]

  package func refusal(_ status: CallStatus, httpStatus: Int?) -> WebResponse {
    .error(status, httpStatus: httpStatus, Self.usualHeaders)
  }

  package func exchange(for request: WebRequest) -> WebExchange {
    guard request.headers.count(where: { $0.name == "host" }) <= 1 else {
      return refuse(.invalidArgument, "The request has several headers Host (RFC 9112, 3.2).")
    }
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
    if let exchange = try paths.exchange(for: request, path, headers) { return exchange }
    return try call(request, path, query: query, headers)
  }

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
            CallStatus(
              .unimplemented, "The path takes \(allowed.joined(separator: ", ")), and not \(request.verb.prefix(20))."),
            httpStatus: 405,
            headers + [("allow", allowed.joined(separator: ", "))]))
      }
      if let reason = paths.reasonNotServed(path) {
        return .answer(.error(CallStatus(.unimplemented, reason), headers))
      }
      return .answer(
        .error(CallStatus(.notFound, "Nothing is served at \(request.verb.prefix(20)) \(path.prefix(200))."), headers))
    }
    if let encoding = request["content-encoding"], encoding != "identity" {
      return .answer(
        .error(
          CallStatus(
            .invalidArgument,
            "A body with content-encoding \"\(encoding.prefix(100))\" cannot be read: send it uncompressed."),
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

  /// The binding of a path. If several match, it is the first one whose variables have the form of names.
  private func match(_ verb: String, _ path: [Substring]) throws(RESTFailure) -> (HTTPBinding, [String])? {
    var second: (HTTPBinding, [String])?
    for binding in bindings where binding.verb == verb {
      guard let match = try binding.template.match(path) else { continue }
      if paths.areNames(match) { return (binding, match.values) }
      if second == nil { second = (binding, match.values) }
    }
    return second
  }

  private func otherVerbs(_ path: [Substring]) throws(RESTFailure) -> [String] {
    var verbs: Set<String> = []
    for binding in bindings where try binding.template.match(path).map(paths.areNames) ?? false {
      verbs.insert(binding.verb)
    }
    return verbs.sorted()
  }
}

/// Answers requests whose paths no binding of a method matches.
package protocol RESTPaths: Sendable {
  /// Returns the exchange for a request that calls no method; nil for any other request.
  ///
  /// - Parameters:
  ///   - path: The path as it was sent.
  ///   - headers: The headers of every response to this client.
  func exchange(
    for request: WebRequest, _ path: Substring, _ headers: [(name: String, value: String)]
  ) throws(RESTFailure) -> WebExchange?

  /// Returns true if the values of a template's variables have the form of names. Templates leave open how many segments `**` stands for.
  func areNames(_ match: PathTemplate.Match) -> Bool

  /// The text that says why nothing is bound to a path; nil for a path that is not known.
  func reasonNotServed(_ path: Substring) -> String?
}
