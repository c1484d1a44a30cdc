internal import Foundation
internal import HearthModel

/// The limits of a query that can be sent.
///
/// All listeners of a client share one stream. A request that the backend cannot read ends that stream, for every listener, and again after each
/// reconnection. So such a query is refused alone, before it is sent.
enum OutgoingQueryLimits {
  /// Readers of protocol buffers take so many messages in each other
  /// (https://protobuf.dev/programming-guides/proto-limits/).
  static let maximumLevels = 100
  /// Servers of gRPC read requests of 4 MiB by default, and Google's emulator ends the stream beyond. The difference is for the rest of the
  /// request.
  static let maximumBytes = 4 * 1024 * 1024 - 64 * 1024
  /// The request, target, query, structured query and the conjunction of all filters.
  private static let levelsAboveFilters = 6
  /// The request, target, query, structured query, cursor and value.
  private static let levelsAbovePositions = 6

  /// The error for a query that is nested too deep or too large, nil for one that can be sent.
  static func refusal(of query: HearthModel.Query) -> NSError? {
    let positions = [query.startAt, query.endAt].compactMap { $0?.position }.joined()
    let inFilters = levelsAboveFilters + (query.filters.map(Self.levels).max() ?? 0)
    let inPositions = levelsAbovePositions + (positions.map(Self.levels).max() ?? 0)
    let levels = max(inFilters, inPositions)
    guard levels <= maximumLevels else {
      return .firestore(
        .invalidArgument,
        """
        Invalid query. Its filters or cursors are nested too deep to be sent: in \(levels) levels of messages, while a backend reads \
        \(maximumLevels). A filter in an andFilter or orFilter of the other kind adds 2 levels, a map in a value 3, an array 2.
        """)
    }
    let bytes =
      Self.bytes(query.path.canonicalString) + Self.bytes(query.collectionGroup ?? "")
      + query.orders.reduce(0) { $0 + Self.bytes($1.path.canonicalString) }
      + query.filters.reduce(0) { $0 + Self.bytes($1) } + positions.reduce(0) { $0 + Self.bytes($1) }
    guard bytes <= maximumBytes else {
      return .firestore(
        .invalidArgument,
        "Invalid query. Its names, filters and cursors have \(bytes) bytes; the limit is \(maximumBytes) bytes.")
    }
    return nil
  }

  private static func levels(_ filter: HearthModel.Filter) -> Int {
    switch filter {
    case .field(let filter): 3 + levels(filter.value)
    case .composite(let composite): 2 + (composite.filters.map(levels).max() ?? 0)
    }
  }

  private static func levels(_ value: Value) -> Int {
    switch value {
    case .map(let map): 3 + (map.entries.map { levels($0.value) }.max() ?? 0)
    case .array(let elements): 2 + (elements.map(levels).max() ?? 0)
    default: 0
    }
  }

  private static let overhead = 32

  private static func bytes(_ filter: HearthModel.Filter) -> Int {
    switch filter {
    case .field(let filter): bytes(filter.path.canonicalString) + bytes(filter.value)
    case .composite(let composite): composite.filters.reduce(overhead) { $0 + bytes($1) }
    }
  }

  private static func bytes(_ value: Value) -> Int { overhead + value.encoded().count }

  private static func bytes(_ name: String) -> Int { overhead + name.utf8.count }
}
