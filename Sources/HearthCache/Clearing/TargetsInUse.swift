package import HearthModel
internal import HearthStore

/// The targets that listeners of all clients use, in one transaction.
///
/// The views of this client know what its listeners show. Only the queries of the other clients are known: a document that matches one, and
/// that has no pending write, may be shown. For a query with a limit this includes documents that are not shown.
struct TargetsInUse {
  private var own: Set<TargetID>
  private var others: [TargetID: Query] = [:]

  init(of cache: CacheTransactions) throws {
    own = Set(cache.targets.targetIDs)
    for target in try cache.sharing.targetsKeptForOthers() {
      guard let data = try cache.tables.targets.targetData(target), !data.target.isOfBundle else { continue }
      others[target] = data.target.query
    }
  }

  func hold(_ targetIDs: [TargetID]) -> Bool {
    targetIDs.contains { own.contains($0) || others[$0] != nil }
  }

  /// Returns true if another client may show the document.
  func mayShow(_ document: Document) -> Bool {
    others.values.contains { query in
      query.path == document.key.path || CollectionScope(of: query).contains(document.key) && query.matches(document)
    }
  }
}

extension CacheTransactions {
  /// Removes the row of a target that no listener uses, with its resume token.
  ///
  /// - Returns: False if it stays, or has no row.
  func dropForClearing(_ targetID: TargetID) throws -> Bool {
    guard targets[targetID] == nil, let data = try tables.targets.targetData(targetID),
      try sharing.endUsesForClearing(targetID, isOfBundle: data.target.isOfBundle)
    else { return false }
    targets.forgetLoaded(targetID)
    guard isEager else {
      try tables.targets.removeRow(targetID)
      return true
    }
    try references.touch(tables.targets.keys(of: targetID))
    try tables.targets.remove(targetID)
    return true
  }

  /// Removes a document that no target with a row holds and that has no pending writes.
  func removeForClearing(_ key: DocumentKey) throws {
    try tables.targets.removeFromAll(key)
    try tables.documents.remove(key)
    if !isEager { try tables.uses.remove(key) }
    try tell(ofDocuments: [key])
  }

  /// Rewrites the file, without anything that was deleted.
  func rewriteFile() throws {
    // So that tests can make it fail like every other step.
    try run("Rewrite cache") {}
    try tables.database.rewrite()
  }
}

extension LocalStore {
  /// Does the next step of a run.
  ///
  /// - Parameter isShown: Returns true if a view of this client shows a document, or may do so once its first result is there.
  /// - Throws: when the step could not be stored; the run can be continued or given up then.
  package func advance(_ run: inout ClearingRun, isShown: (DocumentKey) -> Bool) throws {
    try run.step(on: transactions, isShown: isShown)
  }
}

extension Target {
  /// True for the targets under which bundles keep their documents. No listener can have them.
  var isOfBundle: Bool { path.segments.first == CacheBundles.collection }
}
