internal import HearthModel
internal import HearthStore

/// The rules of targets that need decoded rows, or the documents as well.
extension CacheInvariants {
  func checkTargets() throws {
    var rows: [(number: Int64, canonicalID: String)] = []
    try database.forEachRow("SELECT target_id, canonical_id FROM cache_targets ORDER BY target_id") {
      rows.append((try $0.int64(at: 0), try $0.string(at: 1)))
      return true
    }
    var known: Set<Target> = []
    for (number, canonicalID) in rows {
      let name = "\(number)"
      try decoding("cache_targets", name) {
        guard let targetID = TargetID(exactly: number), let data = try store.tables.targets.targetData(targetID) else {
          return report("cache_targets", name, "a target id has 32 bits")
        }
        if !data.target.canonicalID.utf8.elementsEqual(canonicalID.utf8) {
          report("cache_targets", name, "its canonical id is that of its target")
        }
        if !known.insert(data.target).inserted { report("cache_targets", name, "no other row has its target") }
        try checkDocuments(of: data)
      }
    }
  }

  /// A resume token is not ahead of the documents: the backend would not send again what is missing.
  private func checkDocuments(of data: TargetData) throws {
    guard !data.resumeToken.isEmpty else { return }
    let reader = try store.tables.documents.reader()
    for key in try store.tables.targets.keys(of: data.targetID).sorted() {
      let document = try reader.document(for: key, withFields: false)
      let row = "\(data.targetID) \(key.canonicalString)"
      if document.isUnknown {
        report("cache_target_documents", row, "its document is stored, because its target has a resume token")
      }
      if document.isMissing, !document.hasCommittedMutations, document.version <= data.snapshotVersion {
        report("cache_target_documents", row, "its document existed at the snapshot of its target's resume token")
      }
    }
  }

  /// Compares the targets in use in memory with their rows. In a shared cache another client may have written those.
  func checkActiveTargets() throws {
    guard !store.isShared, store.reopening == nil else { return }
    for targetID in store.transactions.targets.targetIDs {
      guard let active = store.transactions.targets[targetID] else { continue }
      try decoding("cache_targets", "\(targetID)") { try check(active, targetID) }
    }
  }

  private func check(_ active: ActiveTarget, _ targetID: TargetID) throws {
    let (row, rule) = ("\(targetID)", "it is as the client has stored it, because a listener uses it")
    guard var stored = try store.tables.targets.targetData(targetID) else { return report("cache_targets", row, rule) }
    // Not parts of the row, or written at each use.
    stored.sequenceNumber = active.persisted.sequenceNumber
    stored.wasDropped = active.persisted.wasDropped
    stored.purpose = active.persisted.purpose
    if stored != active.persisted { report("cache_targets", row, rule) }
    let hasToken = !active.persisted.resumeToken.isEmpty
    if hasToken, active.persisted.snapshotVersion > active.data.snapshotVersion {
      report("cache_targets", row, "its resume token is not newer than the one in memory")
    }
  }

  /// Eager garbage collection leaves no document that nothing refers to. Pinned queries may keep any.
  func checkUnreferencedDocuments() throws {
    guard try store.tables.pins.queries().isEmpty else { return }
    try store.tables.documents.forEach(in: .everything(under: ResourcePath())) { stored in
      let key = try stored.key
      if store.transactions.references.isShown(key) { return true }
      if try store.tables.targets.hasTarget(for: key) || store.tables.queue.hasPendingBatch(for: key) { return true }
      report("documents", key.canonicalString, "a target, a view or a pending batch refers to it")
      return true
    }
  }
}
