package import HearthModel
internal import HearthStore

/// The loaded bundles and their named queries.
package final class CacheBundles {
  /// Not a collection that anybody can use: ids of this form are reserved.
  static let collection = "__bundle__"

  private let transactions: CacheTransactions
  private let table: BundleTable
  private let targets: TargetTable
  private let globals: CacheGlobals
  private let localDocuments: LocalDocuments

  init(_ transactions: CacheTransactions) {
    self.transactions = transactions
    table = transactions.tables.bundles
    targets = transactions.tables.targets
    globals = transactions.tables.globals
    localDocuments = transactions.tables.localDocuments
  }

  private var references: DocumentReferences { transactions.references }

  /// Returns whether the bundle, or a later one of its id, has been loaded before.
  func hasBundle(_ metadata: BundleMetadata) throws -> Bool {
    try transactions.read("Has newer bundle") { try isLoaded(metadata) }
  }

  private func isLoaded(_ metadata: BundleMetadata) throws -> Bool {
    try table.createTime(of: metadata.id).map { $0 >= metadata.createTime } ?? false
  }

  /// The query that a bundle gave that name to, the last one if there were several.
  package func query(named name: String) throws -> NamedQuery? {
    try transactions.read("Get named query") { try table.query(named: name) }
  }

  // MARK: - Loading

  /// Part of ``LocalStore/apply(_:documents:queries:)``, inside its transaction.
  ///
  func apply(
    _ metadata: BundleMetadata, documents bundled: [BundledDocument], queries: [NamedQuery],
    uses: TargetUses
  ) throws -> DocumentMap {
    // Another process may have loaded it by now.
    guard try !isLoaded(metadata) else { return [:] }
    let umbrella = try target(Self.umbrellaTarget(ofBundle: metadata.id), uses)
    try setKeys(bundled.filter(\.metadata.exists).map(\.document.key), of: umbrella.targetID)
    let owned = try localDocuments.owned(among: bundled.map(\.document.key).sorted())
    let changed = try apply(bundled)
    for query in queries { try apply(query, of: bundled, uses) }
    try table.save(metadata)
    try transactions.tell(ofDocuments: changed.keys)
    return try localDocuments.remoteDocumentsChanged(changed, from: owned, user: transactions.user.row())
  }

  private static func umbrellaTarget(ofBundle id: String) -> Target {
    Query(path: ResourcePath([collection, "docs", id])).target
  }

  private func apply(_ bundled: [BundledDocument]) throws -> DocumentMap {
    // To queries that build on an earlier result the documents are new, however old the bundle is.
    let readTime = try globals.timeAfterLastSnapshot()
    var updates: DocumentMap = [:]
    for document in bundled {
      var update = document.document
      update.readTime = max(document.metadata.readTime, readTime)
      updates[update.key] = update
    }
    let keys = updates.keys.sorted()
    let changed = try localDocuments.setNewer(updates, keys: keys)
    try references.touch(keys)
    return changed
  }

  private func apply(
    _ named: NamedQuery, of bundled: [BundledDocument], _ uses: TargetUses
  ) throws {
    let data = try target(named.query.target, uses)
    // The backend's answer for a target changes the result that the request was made with. In another result, a document of the bundle that
    // was deleted before the answer would stay.
    if try !uses.isAsked(data.targetID), named.readTime > data.snapshotVersion {
      // The keys no longer are what the last snapshot without limbo documents had.
      let renewed = data.with(resumeToken: [], snapshotVersion: named.readTime).with(
        lastLimboFreeSnapshotVersion: .none)
      try targets.update(renewed)
      try transactions.tell(.targetReset(data.targetID))
      let active = transactions.targets
      if active[data.targetID] != nil { active.update(ActiveTarget(renewed)) }
      let name = named.name.utf8
      let keys = bundled.filter { document in
        document.metadata.exists && document.metadata.queries.contains { $0.utf8.elementsEqual(name) }
      }.map(\.document.key)
      try setKeys(keys, of: data.targetID)
    }
    try table.save(named)
  }

  /// The target's row, made if there is none. It has no listener, but counts as in use until this process or a listener to
  /// it ends (firebase-ios-sdk local_store.cc, SaveNamedQuery): loaded documents are not removed before they can be read.
  private func target(_ target: Target, _ uses: TargetUses) throws -> TargetData {
    let data: TargetData
    if let known = try transactions.knownTarget(target) {
      data = known
    } else {
      data = TargetData(
        target: target, targetID: try globals.takeTargetID(), sequenceNumber: try references.sequenceNumber())
      try targets.insert(data)
    }
    transactions.targets.noteLoaded(data.targetID)
    try uses.enter(data.targetID)
    return data
  }

  private func setKeys(_ keys: [DocumentKey], of targetID: TargetID) throws {
    let former = try targets.keys(of: targetID)
    let new = Set(keys)
    let removed = former.subtracting(new).sorted()
    let added = new.subtracting(former).sorted()
    for key in removed { try targets.remove(key, from: targetID) }
    try references.touch(removed)
    try references.add(added, toTarget: targetID)
  }
}

/// The use of targets by this client and others.
struct TargetUses {
  /// Enters that a bundle fills a target.
  let enter: (TargetID) throws -> Void
  /// Returns true if the backend may have been asked for a target.
  let isAsked: (TargetID) throws -> Bool
}
