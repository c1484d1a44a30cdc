internal import HearthModel
internal import HearthStore

/// Updates overlays when the remote documents beneath them change.
///
/// An overlay is kept, unless the document was created or deleted and the overlay depends on its existence (firebase-ios-sdk
/// local_documents_view.cc, ComputeViews). A recalculation would apply a transform that the backend has already carried out to its own
/// result: a pending server timestamp would have the new value as its previous one, and listeners would get a snapshot that is neither the
/// former one nor the committed one.
///
/// The next answer to one of the document's batches ends that: the remaining batches are applied to the present document.
extension LocalDocuments {
  /// The documents that users have pending batches for, before a change of the remote documents.
  struct Owned {
    var keys: [UserRow: Set<DocumentKey>]
    /// The remote documents, without those whose rows cannot be read.
    var before: DocumentMap
  }

  /// The users with pending batches for some of the documents, signed in or not, and for which. Other users have no
  /// overlays of them.
  ///
  /// - Parameter keys: in order.
  func owners(of keys: [DocumentKey], exceptFor user: UserRow? = nil) throws -> [UserRow: Set<DocumentKey>] {
    guard !keys.isEmpty else { return [:] }
    var owners: [UserRow: Set<DocumentKey>] = [:]
    for owner in try queue.usersWithPendingBatches() where owner != user {
      let owned = try queue.keysWithPendingBatches(among: keys, user: owner)
      if !owned.isEmpty { owners[owner] = owned }
    }
    return owners
  }

  /// As ``owners(of:exceptFor:)``, with the documents as they are stored now.
  func owned(among keys: [DocumentKey]) throws -> Owned {
    var owned = Owned(keys: try owners(of: keys), before: [:])
    for key in owned.keys.values.reduce(into: Set(), { $0.formUnion($1) }).sorted() {
      do {
        owned.before[key] = try documents.document(for: key)
      } catch let error as StoreError where error.kind == .corrupt {
        // The document from the backend takes its place.
      }
    }
    return owned
  }

  /// Brings the overlays of all owners up to date after remote documents have changed, and returns the view of `user`.
  func remoteDocumentsChanged(_ remote: DocumentMap, from owned: Owned, user: UserRow?) throws -> DocumentMap {
    assert(remote.allSatisfy { $0.key == $0.value.key }, "a document is found under another one's key")
    assert(owned.keys.values.allSatisfy { !$0.isEmpty }, "a user without pending batches counts as an owner")
    var view = remote
    for (owner, keys) in owned.keys.sorted(by: { $0.key < $1.key }) {
      let changed = keys.sorted().compactMap { remote[$0] }
      let local = try localView(of: changed, from: owned.before, owner: owner)
      if owner == user { view.merge(local) { _, new in new } }
    }
    return view
  }

  private struct Change {
    var before: Document
    var after: Document
    var overlay: OverlayTable.Entry?

    var key: DocumentKey { after.key }
    var comesOrGoes: Bool { before.isFound != after.isFound }
    var isVisible: Bool { comesOrGoes || !before.hasSameContents(as: after) }
    var replacesDocument: Bool { overlay?.mutation.replacesDocument ?? false }
  }

  private func localView(of changed: [Document], from before: DocumentMap, owner: UserRow) throws -> DocumentMap {
    var recalculated: DocumentMap = [:]
    var changes: [Change] = []
    let reader = try overlays.reader(user: owner)
    for document in changed {
      if let former = before[document.key], let change = try change(from: former, to: document, reader),
        change.overlay != nil || !change.isVisible
      {
        changes.append(change)
      } else {
        recalculated[document.key] = document
      }
    }
    let replaced = try keysReplaced(by: changes.filter { $0.comesOrGoes && $0.replacesDocument }, owner: owner)
    var view: DocumentMap = [:]
    var narrowed: [Change] = []
    for change in changes {
      if change.comesOrGoes && !replaced.contains(change.key) {
        recalculated[change.key] = change.after
      } else if change.isVisible && change.overlay?.state == .wide {
        narrowed.append(change)
      } else {
        view[change.key] = try keep(change, owner: owner)
      }
    }
    view.merge(try narrow(narrowed, owner: owner)) { _, new in new }
    view.merge(try recalculate(recalculated, user: owner)) { _, new in new }
    return view
  }

  /// - Returns: nil if the overlay cannot be read. The queue has what it says.
  private func change(from before: Document, to after: Document, _ reader: OverlayTable.Reader) throws -> Change? {
    do {
      return Change(before: before, after: after, overlay: try reader.entry(for: after.key))
    } catch CacheError.corruptRecord {
      return nil
    }
  }

  /// The documents that a pending set or delete replaces, among some documents with an overlay that replaces them.
  ///
  /// Such an overlay may also result from patches alone, written when the cache did not know the document. Then it depends on whether the
  /// document exists.
  private func keysReplaced(by changes: [Change], owner: UserRow) throws -> Set<DocumentKey> {
    guard !changes.isEmpty else { return [] }
    var keys: [BatchID: [DocumentKey]] = [:]
    for (key, batchIDs) in try queue.pendingBatchIDs(for: changes.map(\.key), user: owner) {
      for batchID in batchIDs { keys[batchID, default: []].append(key) }
    }
    var replaced: Set<DocumentKey> = []
    for batchID in keys.keys.sorted() {
      // A batch is not read for documents that an earlier one replaces.
      let open = Set(keys[batchID] ?? []).subtracting(replaced)
      guard !open.isEmpty, let batch = try queue.batch(batchID, user: owner) else { continue }
      for mutation in batch.mutations where mutation.replacesDocument && open.contains(mutation.key) {
        replaced.insert(mutation.key)
      }
    }
    return replaced
  }

  /// Lays an overlay over its changed document. Without one, none of the batches has an effect on a document that exists
  /// or not as this one does.
  private func keep(_ change: Change, owner: UserRow) throws -> Document {
    guard let overlay = change.overlay else { return change.after }
    var local = change.after
    _ = try overlay.mutation.applyToLocalView(&local, previousMask: nil, localWriteTime: Self.noWriteTime)
    guard change.isVisible else { return local }
    if overlay.state != .kept { try overlays.setState(.kept, of: change.key, user: owner) }
    try documents.indexes.setLocal(local, owner: owner)
    return local
  }

  /// Lays overlays that are wide over their changed documents, as what the batches did to the documents before: fields that
  /// only answered batches have set must be seen as the backend has them.
  private func narrow(_ changes: [Change], owner: UserRow) throws -> DocumentMap {
    assert(changes.allSatisfy { $0.overlay?.state == .wide }, "an overlay is narrowed that is not wide")
    let before = DocumentMap(uniqueKeysWithValues: changes.map { ($0.key, $0.before) })
    _ = try recalculate(before, isKept: true, user: owner)
    var view: DocumentMap = [:]
    for change in changes {
      let local = try overlaid(change.after, user: owner).document
      if local.hasLocalMutations { try documents.indexes.setLocal(local, owner: owner) }
      view[change.key] = local
    }
    return view
  }
}
