package import HearthModel
internal import HearthStore

extension LocalStore {
  /// Returns whether the bundle, or a later one of its id, has been loaded before.
  func hasBundle(_ metadata: BundleMetadata) throws -> Bool {
    try read("Has newer bundle") { try isLoaded(metadata) }
  }

  private func isLoaded(_ metadata: BundleMetadata) throws -> Bool {
    try bundles.createTime(of: metadata.id).map { $0 >= metadata.createTime } ?? false
  }

  /// The query that a bundle gave that name to, the last one if there were several.
  package func query(named name: String) throws -> NamedQuery? {
    try read("Get named query") { try bundles.query(named: name) }
  }

  /// Takes over a bundle that has been read to its end: all of it or, if the transaction fails, nothing.
  ///
  /// Documents are applied like changes of the backend, each only if it is newer than the cached one. They belong to one
  /// artificial target per bundle id, so that garbage collection keeps them until the next start.
  ///
  /// A named query's target takes the bundle's documents of that query as its result if its read time is newer than what is
  /// known, and the backend is not asked for it; then there is no resume token, and the next listen sends the read time
  /// (firebase-ios-sdk local_store.cc, ApplyBundledDocuments and SaveNamedQuery).
  ///
  /// - Returns: the documents that changed, as the local view now has them.
  package func apply(
    _ metadata: BundleMetadata, documents bundled: [BundledDocument], queries: [NamedQuery]
  ) throws -> DocumentMap {
    try transaction("Apply bundle documents") {
      // Another process may have loaded it meanwhile.
      guard try !isLoaded(metadata) else { return [:] }
      let umbrella = try storedTarget(Self.umbrellaTarget(ofBundle: metadata.id))
      try setKeys(bundled.filter(\.metadata.exists).map(\.document.key), of: umbrella.targetID)
      let owned = try localDocuments.owned(among: bundled.map(\.document.key).sorted())
      let changed = try apply(bundled)
      for query in queries { try apply(query, of: bundled) }
      try bundles.save(metadata)
      try tell(ofDocuments: changed.keys)
      return try localDocuments.remoteDocumentsChanged(changed, from: owned, user: userRow())
    }
  }

  /// Not a collection that anybody can use: ids of this form are reserved.
  static let bundleCollection = "__bundle__"

  private static func umbrellaTarget(ofBundle id: String) -> Target {
    Query(path: ResourcePath([bundleCollection, "docs", id])).target
  }

  private func apply(_ bundled: [BundledDocument]) throws -> DocumentMap {
    // To queries that build on an earlier result the documents are new, however old the bundle is.
    let readTime = SnapshotVersion(try globals.lastRemoteSnapshotVersion().timestamp.next)
    var updates: DocumentMap = [:]
    for document in bundled {
      var update = document.document
      update.readTime = max(document.metadata.readTime, readTime)
      updates[update.key] = update
    }
    let keys = updates.keys.sorted()
    let changed = try applyNewer(updates, keys: keys)
    try touch(keys)
    return changed
  }

  private func apply(_ named: NamedQuery, of bundled: [BundledDocument]) throws {
    let data = try storedTarget(named.query.target)
    // What the backend sends for a target that it was asked for changes the result that it was asked with. A document of the bundle that was
    // deleted before the answer would stay in another one.
    let isAlone = state.membership == nil
    let isAsked = try isAlone ? state.targets[data.targetID]?.isWatched == true : clients.isWatched(data.targetID)
    if !isAsked, named.readTime > data.snapshotVersion {
      // The keys no longer are what the last snapshot without limbo documents had.
      let renewed = data.with(resumeToken: [], snapshotVersion: named.readTime).with(
        lastLimboFreeSnapshotVersion: .none)
      try targets.update(renewed)
      try tell(.targetReset(data.targetID))
      if state.targets[data.targetID] != nil {
        state.targets[data.targetID] = ActiveTarget(data: renewed, persisted: renewed)
      }
      let name = named.name.utf8
      let keys = bundled.filter { document in
        document.metadata.exists && document.metadata.queries.contains { $0.utf8.elementsEqual(name) }
      }.map(\.document.key)
      try setKeys(keys, of: data.targetID)
    }
    try bundles.save(named)
  }

  /// The target's row, made if there is none. It has no listener, but counts as in use until this process or a listener to
  /// it ends (firebase-ios-sdk local_store.cc, SaveNamedQuery): loaded documents are not removed before they can be read.
  private func storedTarget(_ target: Target) throws -> TargetData {
    let data: TargetData
    if let known = try knownTarget(target) {
      data = known
    } else {
      data = TargetData(target: target, targetID: try globals.takeTargetID(), sequenceNumber: try sequenceNumber())
      try targets.insert(data)
    }
    state.bundleTargets.insert(data.targetID)
    if let member = state.membership, try !clients.isUsed(data.targetID), try clients.contains(member.client) {
      try clients.use(data.targetID, by: member.client, isWatched: false)
    }
    return data
  }

  private func setKeys(_ keys: [DocumentKey], of targetID: TargetID) throws {
    let former = try targets.keys(of: targetID)
    let new = Set(keys)
    let removed = former.subtracting(new).sorted()
    let added = new.subtracting(former).sorted()
    for key in removed { try targets.remove(key, from: targetID) }
    try touch(removed)
    try add(added, toTarget: targetID)
  }
}

extension Timestamp {
  /// The next moment that the protocol can tell from this one: a microsecond later.
  fileprivate var next: Timestamp {
    let nanoseconds = nanoseconds + 1000
    guard nanoseconds >= 1_000_000_000 else { return Timestamp(seconds: seconds, nanoseconds: nanoseconds) }
    let (second, overflow) = seconds.addingReportingOverflow(1)
    return overflow ? self : Timestamp(seconds: second, nanoseconds: nanoseconds - 1_000_000_000)
  }
}
