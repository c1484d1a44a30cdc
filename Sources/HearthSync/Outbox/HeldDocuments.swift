internal import HearthModel

/// The documents under rules for conflicts that the held writes of a user change.
struct HeldDocuments {
  private struct Entry {
    /// As the cache had it when the last of the writes was made.
    var stored: SeenDocument
    /// As that write has left it.
    var changed: SeenDocument
  }

  let owner: String?
  private var entries: [DocumentKey: Entry] = [:]
  /// True if it is not known of some of the writes which documents they change.
  var lacksWrites = false

  init(of owner: String?) {
    self.owner = owner
  }

  /// Adds a write.
  ///
  /// - Parameters:
  ///   - stored: Its documents as the cache has them.
  ///   - earlier: The held writes of the user before it.
  /// - Returns: The documents as its author sees them, who knows these writes.
  mutating func add(
    _ write: HeldWrite, _ stored: [DocumentKey: SeenDocument], behind earlier: some Sequence<HeldWrite>
  ) -> [DocumentKey: SeenDocument] {
    if write.mutations == nil { lacksWrites = true }
    var seen = stored
    for (key, document) in stored {
      if let entry = entries[key] {
        seen[key] =
          entry.stored == document
          ? entry.changed
          : earlier.reduce(document) { $0.changed(by: $1, at: key) }
      }
      entries[key] = Entry(stored: document, changed: (seen[key] ?? document).changed(by: write, at: key))
    }
    return seen
  }

  /// Adds a write that another engine has held.
  mutating func takeOver(_ write: HeldWrite) {
    takeOver(write, (write.write.seen ?? [:]).keys)
  }

  /// Adds a write that was not made now.
  ///
  /// - Parameter keys: Its documents under rules.
  mutating func takeOver(_ write: HeldWrite, _ keys: some Sequence<DocumentKey>) {
    if write.mutations == nil { lacksWrites = true }
    for key in keys { entries[key] = Entry(stored: .unread, changed: .unread) }
  }
}

extension SeenDocument {
  /// As the author of a write that waits sees it after that.
  fileprivate func changed(by held: HeldWrite, at key: DocumentKey) -> SeenDocument {
    let mutations = held.mutations?.filter { $0.key == key } ?? []
    guard !mutations.isEmpty else { return self }
    guard case .read(var document, let version, _) = self, let identity = held.write.identity else { return .unread }
    let batch = MutationBatch(
      batchID: unknownBatchID, localWriteTime: held.write.localWriteTime, mutations: mutations)
    guard (try? batch.applyToLocalView(&document, mutatedFields: .empty)) != nil else { return .unread }
    return .read(document, remoteVersion: version, last: .waiting(identity))
  }
}
