internal import HearthModel
internal import HearthStore

/// Finds the documents that pinned queries show although the backend has not confirmed them for those queries: such as the user has written, or
/// such as came with other queries.
///
/// A query with a limit shows only those that sort within its result. Where the backend's result fills the limit, its outermost document is
/// the edge; where it does not, every match is within. Behind the edge only what the user has written is kept until the backend has sent it,
/// because a collection may hold any number of documents there.
///
/// A value for one step: results are read once.
struct KeptDocuments {
  /// The part of a query with a limit that is kept.
  private enum Extent {
    case everything
    /// Up to this document.
    case upTo(Document)
    /// The backend's result is not known, or none of its documents is as it was.
    case nothing
  }

  private let store: LocalStore
  private let pinned: [Query]
  private var extents: [Query: Extent] = [:]

  init(in store: LocalStore) throws {
    self.store = store
    pinned = try store.pins.queries()
  }

  mutating func contains(_ key: DocumentKey) throws -> Bool {
    let holding = pinned.filter { $0.holds(key) }
    guard !holding.isEmpty else { return false }
    let document = try store.documents.document(for: key)
    for query in holding where query.matches(document) {
      if query.limit == nil || document.hasCommittedMutations { return true }
      switch try extent(of: query) {
      case .everything: return true
      case .upTo(let edge): if !query.sorts(document, beyond: edge) { return true }
      case .nothing: break
      }
    }
    return false
  }

  private mutating func extent(of query: Query) throws -> Extent {
    if let known = extents[query] { return known }
    let extent = try readExtent(of: query)
    extents[query] = extent
    return extent
  }

  private func readExtent(of query: Query) throws -> Extent {
    guard let limit = query.limit, let target = try store.knownTarget(query.target), !target.resumeToken.isEmpty else {
      return .nothing
    }
    let keys = try store.targets.keys(of: target.targetID)
    guard keys.count >= limit else { return .everything }
    var edge: Document?
    for key in keys {
      let document = try store.documents.document(for: key)
      // One that has changed since the result was complete may have moved far away.
      guard document.version <= target.snapshotVersion, query.matches(document) else { continue }
      if let found = edge, !query.sorts(document, beyond: found) { continue }
      edge = document
    }
    return edge.map { .upTo($0) } ?? .nothing
  }
}
