/// The members that the values of a request have whatever the request is.
enum KnownMembers {
  /// The names in the paths of values whose members are known.
  static let longestPath = 2

  /// The members of a document.
  static let document = ["__name__", "data", "id"]

  /// - Parameter path: Names such as `request` and `auth`.
  /// - Returns: Nil if the value may have any members.
  static func of(_ path: [String]) -> [String]? {
    switch path {
    case ["request"]: ["auth", "inTransaction", "method", "path", "query", "resource", "time"]
    case ["request", "auth"]: ["token", "uid"]
    case ["request", "query"]: ["limit", "offset", "orderBy"]
    case ["resource"], ["request", "resource"]: document
    default: nil
    }
  }
}
