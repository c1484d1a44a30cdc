internal import HearthModel
internal import HearthStore

extension EmbeddedStorage {
  /// Documents and bytes that are in memory at a time while a place is cleared.
  private static let clearingStep = (documents: 500, bytes: 4 << 20)
  /// The changes that are passed on to listeners from memory. Beyond them, listeners take the clearing from the change log.
  private static let passedChanges = (documents: 10_000, bytes: 16 << 20)

  /// One commit of any size on the way of all others: listeners, the history, counts and indexes need no rule of their own. Its memory is
  /// bounded. Other commits wait until it is done.
  func clear(_ place: ResourcePath) throws(StatusError) {
    try requireOpen()
    let result = publishing {
      locks.abortAll()
      return removeAll(below: place)
    }
    checkpoint()
    continueTrimming()
    try result.get()
  }

  var holdsNothing: Bool {
    do {
      try requireOpen()
      return try responses.isEmpty
        && store.page(of: .everything(under: ResourcePath()), after: nil, limit: 1, byteLimit: 1).documents.isEmpty
    } catch {
      return false
    }
  }

  private func removeAll(below place: ResourcePath) -> (Result<Void, StatusError>, [CommittedChange]) {
    let before = known
    do {
      try requireSafeDisk()
      var change: CommittedChange?
      var epochs: Epochs?
      try write("Clear") {
        store.indexes.use(indexState)
        change = try removeDocuments(below: place)
        if place.isEmpty { try responses.removeAll() }
        epochs = try endTransaction(firstVersion: change?.version, after: before.committedVersion)
      }
      if let epochs { begin(epochs) }
      return (.success(()), change.map { [$0] } ?? [])
    } catch {
      rollBack(to: before)
      return (.failure(commitFailure(error)), [])
    }
  }

  /// - Returns: nil if there is nothing to delete.
  private func removeDocuments(below place: ResourcePath) throws -> CommittedChange? {
    var change = CommittedChange(version: nextVersion())
    var scopes = [CollectionScope.everything(under: place)]
    if !place.count.isMultiple(of: 2) {
      scopes.insert(.collection(place), at: 0)
    } else if !place.isEmpty {
      try remove([store.document(for: DocumentKey(place))], in: &change)
    }
    for scope in scopes {
      var position: WalkPosition?
      repeat {
        let page = try store.page(
          of: scope, after: position, limit: Self.clearingStep.documents, byteLimit: Self.clearingStep.bytes)
        try remove(page.documents, in: &change)
        position = page.end
      } while position != nil
    }
    guard change.documentCount > 0 else { return nil }
    noteCommit(at: change.version)
    return change
  }

  private func remove(_ documents: [Document], in change: inout CommittedChange) throws {
    let transitions = documents.filter(\.isFound).map {
      DocumentTransition(before: $0, after: .missing($0.key, version: change.version))
    }
    guard !transitions.isEmpty else { return }
    for transition in transitions { try store.remove(transition.key) }
    try log.append(version: change.version, transitions)
    change.add(transitions, holdingAtMost: Self.passedChanges.documents, bytes: Self.passedChanges.bytes)
  }
}
