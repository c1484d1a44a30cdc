internal import HearthModel
internal import HearthStore

/// The edges of the results of pinned queries with a limit.
///
/// A limit may have any size, so a result is read in pieces, in the order of its keys. Its edge stays known until the documents of its
/// target change. The row of the target shows that: its version is stored with each such change, and otherwise only occasionally.
struct ResultEdges {
  /// The part of a query with a limit that is kept.
  enum Extent {
    case everything
    /// Up to this document.
    case upTo(Document)
    /// The backend's result is not known, or none of its documents is as it was.
    case nothing
  }

  /// A bound on the reads of one step.
  struct Allowance {
    var documents: Int
    var bytes: Int

    static let unlimited = Allowance(documents: .max, bytes: .max)

    var isUsedUp: Bool { documents <= 0 || bytes <= 0 }
  }

  fileprivate struct Reading {
    /// The state of the target whose documents are read.
    let targetID: TargetID
    let version: SnapshotVersion
    var edge: Document?
    /// The key that was read last; nil before the first.
    var position: DocumentKey?
    var isComplete = false
    /// The number of readings before this one that the target's changes cut off.
    var restartCount = 0
  }

  /// A result that changes faster than it is read is kept as a whole.
  private static let restartLimit = 3

  private var readings: [Query: Reading] = [:]

  /// Returns the extent of a query.
  ///
  /// - Returns: Nil if the allowance was used up before the extent was known. The next call goes on there.
  mutating func extent(
    of query: Query, in tables: CacheTables, within allowance: inout Allowance
  ) throws -> Extent? {
    guard let limit = query.limit, let target = try tables.targets.target(query.target), !target.resumeToken.isEmpty
    else { return .nothing }
    // The edge of a result that has come in part is not known either.
    guard target.completeVersion > .none,
      try tables.targets.keyCount(of: target.targetID, limit: limit) >= limit
    else { return .everything }
    var reading = readings[query] ?? Reading(targetID: target.targetID, version: target.snapshotVersion)
    if reading.targetID != target.targetID || reading.version != target.snapshotVersion {
      let restartCount = reading.isComplete ? 0 : reading.restartCount + 1
      reading = Reading(targetID: target.targetID, version: target.snapshotVersion, restartCount: restartCount)
    }
    guard reading.restartCount <= Self.restartLimit else { return .everything }
    try reading.advance(query, in: tables, within: &allowance)
    readings[query] = reading
    guard reading.isComplete else { return nil }
    return reading.edge.map { .upTo($0) } ?? .nothing
  }
}

extension ResultEdges.Reading {
  fileprivate mutating func advance(
    _ query: Query, in tables: CacheTables, within allowance: inout ResultEdges.Allowance
  ) throws {
    while !isComplete, !allowance.isUsedUp {
      let page = min(allowance.documents, 500)
      let keys = try tables.targets.keys(of: targetID, after: position, limit: page)
      for key in keys {
        let document = try tables.documents.document(for: key)
        position = key
        allowance.documents -= 1
        allowance.bytes -= document.fields.bytes.count
        take(document, of: query)
        if allowance.isUsedUp { return }
      }
      isComplete = keys.count < page
    }
  }

  /// One that has changed since the result was complete may have moved far away.
  private mutating func take(_ document: Document, of query: Query) {
    guard document.version <= version, query.matches(document) else { return }
    if let edge, !query.sorts(document, beyond: edge) { return }
    edge = document
  }
}
