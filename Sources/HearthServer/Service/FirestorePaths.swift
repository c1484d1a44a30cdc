internal import HearthModel
internal import HearthRPC
internal import NIOCore

/// The form of Firestore's names in paths, and the few requests that Google's emulator answers in addition to Firestore's methods.
struct FirestorePaths: RESTPaths {
  /// Deletes all documents of a database; its request is made by ``EmulatorCall``, with the name of the place to clear. Nil if that is not allowed.
  let clear: CallMethod?
  /// Replaces the security rules of a project; its request is made by ``EmulatorCall``. Nil if that is not allowed.
  let setRules: CallMethod?
  /// Reports what was evaluated of security rules; nil if that is not allowed.
  let coverage: CoverageRequest?
  /// Ends the server on `POST /shutdown`; nil if that is not allowed.
  let shutDown: (@Sendable () -> Void)?
  /// Nil if the databases can always be reached.
  let availability: Availability?

  private static let emulatorPath = "/emulator/v1/"
  private static let rulesMethod = ":securityRules"

  private static let outOfReach = CallStatus(.unavailable, "The databases are out of reach.")

  func exchange(
    for request: WebRequest, _ path: Substring, _ headers: [(name: String, value: String)]
  ) throws(RESTFailure) -> WebExchange? {
    switch (request.verb, path) {
    case ("GET", "/"), ("HEAD", "/"):
      guard availability?.isAvailable ?? true else { return .answer(.error(Self.outOfReach, headers)) }
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
      return .call(clear, request.metadata, EmulatorCall(name: name, headers: headers))
    case ("PUT", let path) where path.hasPrefix(Self.emulatorPath) && path.hasSuffix(Self.rulesMethod):
      guard let setRules else {
        return .answer(
          .error(
            CallStatus(
              .permissionDenied,
              "Rules may be replaced this way in development only; here they are in the file of --rules."
            ), headers))
      }
      let name = path.dropFirst(Self.emulatorPath.count).dropLast(Self.rulesMethod.count)
      let decoded = try PercentEncoding.decoded(name, keepsSlashes: true, at: "path")
      return .call(setRules, request.metadata, EmulatorCall(name: decoded, headers: headers))
    case ("GET", let path) where path.hasPrefix(Self.emulatorPath):
      return try coverageExchange(for: request, path.dropFirst(Self.emulatorPath.count), headers)
    default:
      return nil
    }
  }

  private func coverageExchange(
    for request: WebRequest, _ path: Substring, _ headers: [(name: String, value: String)]
  ) throws(RESTFailure) -> WebExchange? {
    guard let form = CoverageRequest.Form.allCases.first(where: { path.hasSuffix($0.rawValue) }) else { return nil }
    guard let coverage else {
      return .answer(
        .error(
          CallStatus(.permissionDenied, "The coverage of security rules is reported in development only."), headers))
    }
    let name = try PercentEncoding.decoded(path.dropLast(form.rawValue.count), keepsSlashes: true, at: "path")
    let call = EmulatorCall(name: name, contentType: form.contentType, headers: headers)
    return .call(coverage.method(form), request.metadata, call)
  }

  /// Names of documents have an even number of segments below `documents`, those of collections an odd one.
  func areNames(_ match: PathTemplate.Match) -> Bool {
    match.variables.allSatisfy { variable in
      !Self.isDocument(variable.pattern) || (variable.segmentCount - Self.segmentsBeforeIDs).isMultiple(of: 2)
    }
  }

  /// `projects/p/databases/d/documents`.
  private static let segmentsBeforeIDs = 5

  /// Returns true for `projects/*/databases/*/documents/*/**`, and for the same with `documents/**`.
  private static func isDocument(_ pattern: String) -> Bool {
    pattern.hasSuffix("documents/*/**") || pattern.hasSuffix("documents/**")
  }

  func reasonNotServed(_ path: Substring) -> String? { UnservedCalls.reason(path: path) }
}
