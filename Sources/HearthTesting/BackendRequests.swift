/// Some of the requests that clients make of a ``ScriptedBackend``.
///
/// ```swift
/// backend.reject(.writes.at("cities/SF"), with: .permissionDenied)
/// backend.hold(.reads)
/// ```
public struct BackendRequests: Sendable, Hashable {
  /// The purpose of a request.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// Writes, batches, and the commits of transactions.
    case write
    /// Listeners, and the one-time reads that a client makes by listening: all but those of transactions and aggregations.
    case listen
    /// Reads in transactions, aggregations, and what a client reads to resolve a conflict.
    case read
  }

  /// The kinds that are meant.
  public var kinds: Set<Kind>
  /// Only requests of this document or collection, or of something below it; nil for all. `"cities"` has `"cities/SF"` in it.
  public var path: String?

  /// Makes a description of requests.
  public init(_ kinds: Set<Kind>, at path: String? = nil) {
    self.kinds = kinds
    self.path = path
  }

  /// All requests.
  public static var all: BackendRequests { BackendRequests(Set(Kind.allCases)) }
  /// Writes, batches, and the commits of transactions.
  public static var writes: BackendRequests { BackendRequests([.write]) }
  /// Listeners and most one-time reads.
  public static var listens: BackendRequests { BackendRequests([.listen]) }
  /// Reads in transactions, aggregations, and those for conflicts.
  public static var reads: BackendRequests { BackendRequests([.read]) }

  /// Selects the requests that concern a document or a collection, or something below it.
  public func at(_ path: String) -> BackendRequests { BackendRequests(kinds, at: path) }

  func contains(_ kind: Kind, _ paths: [String]) -> Bool {
    guard kinds.contains(kind) else { return false }
    guard let path else { return true }
    return paths.contains { $0 == path || $0.hasPrefix(path + "/") }
  }
}
