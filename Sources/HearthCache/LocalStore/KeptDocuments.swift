internal import HearthModel
internal import HearthStore

/// Finds the documents that pinned queries show although the backend has not confirmed them for those queries: documents that the user has
/// written, or that came with other queries.
///
/// A query with a limit shows only documents that sort within its result. If the backend's result fills the limit, its outermost document
/// is the edge; otherwise every match is within. Beyond the edge only documents that the user has written are kept, until the backend has
/// sent them, because a collection may hold any number of documents there.
///
/// A value for one step. A step may read only a part of the results (``ResultEdges``).
struct KeptDocuments {
  private let tables: CacheTables
  private let pinned: [Query]
  private var allowance: ResultEdges.Allowance
  /// The known extents of the results after this step.
  private(set) var edges: ResultEdges
  /// The extents that this step has found out.
  private var extents: [Query: ResultEdges.Extent] = [:]

  /// - Parameters:
  ///   - edges: The edges that earlier steps have found.
  ///   - allowance: The bound on the reads of results.
  init(in tables: CacheTables, _ edges: ResultEdges, within allowance: ResultEdges.Allowance) throws {
    self.tables = tables
    self.edges = edges
    self.allowance = allowance
    pinned = try tables.pins.queries()
  }

  /// Returns whether a pinned query keeps a document.
  ///
  /// - Returns: Nil if that is not known yet, because the step may not read as much of a result as is needed.
  mutating func contains(_ key: DocumentKey) throws -> Bool? {
    let holding = pinned.filter { $0.holds(key) }
    guard !holding.isEmpty else { return false }
    let document = try tables.documents.document(for: key)
    var isKnown = true
    for query in holding where query.matches(document) {
      if query.limit == nil || document.hasCommittedMutations { return true }
      switch try extent(of: query) {
      case .everything?: return true
      case .upTo(let edge)?: if !query.sorts(document, beyond: edge) { return true }
      case .nothing?: break
      case nil: isKnown = false
      }
    }
    return isKnown ? false : nil
  }

  private mutating func extent(of query: Query) throws -> ResultEdges.Extent? {
    if let known = extents[query] { return known }
    let extent = try edges.extent(of: query, in: tables, within: &allowance)
    extents[query] = extent
    return extent
  }
}
