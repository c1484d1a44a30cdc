internal import HearthModel

/// The query of a request's target, split into the parameters of every method and the method's own.
struct RESTParameters {
  enum Format: Sendable, Hashable {
    case json
    /// Each response as an event (https://html.spec.whatwg.org/multipage/server-sent-events.html).
    case events
    /// The response's bytes on the wire.
    case binary
  }

  /// Fields of the request, in order.
  private(set) var fields: [(name: String, value: String)] = []
  private(set) var format = Format.json
  private(set) var isPretty = true
  private(set) var accessToken: String?

  /// Parameters that Google's servers accept and that have no meaning here.
  private static let ignored: Set<String> = [
    "key", "$key", "quotaUser", "$quotaUser", "userIp", "uploadType", "upload_protocol", "$.xgafv",
  ]

  init(query: Substring) throws(RESTFailure) {
    for part in query.split(separator: "&") {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = try PercentEncoding.decoded(pair[0], isQuery: true, at: String(pair[0].prefix(100)))
      let value = pair.count > 1 ? try PercentEncoding.decoded(pair[1], isQuery: true, at: name) : ""
      try take(name, value)
    }
  }

  private mutating func take(_ name: String, _ value: String) throws(RESTFailure) {
    switch name {
    case "alt", "$alt":
      switch value {
      // The second form is how old clients ask for numbers as names of enums, which they get anyway.
      case "json", "json;enum-encoding=int": format = .json
      case "sse": format = .events
      case "proto": format = .binary
      default: throw .invalid(at: name, "\"\(value.prefix(100))\" is not a form of answers; choose json, sse or proto.")
      }
    case "prettyPrint", "$prettyPrint", "pp":
      switch value {
      case "true", "1", "": isPretty = true
      case "false", "0": isPretty = false
      default: throw .value(at: name, type: "TYPE_BOOL", JSONText.string(String(value.prefix(100))).compact)
      }
    case "access_token", "$access_token", "oauth_token": accessToken = value
    case "fields", "$fields", "callback", "$callback":
      throw .invalid(at: name, "The parameter is not supported.")
    default: if !Self.ignored.contains(name) { fields.append((name, value)) }
    }
  }
}
