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
    _ write: LocalWrite, _ stored: [DocumentKey: SeenDocument], behind earlier: some Sequence<LocalWrite>
  ) -> [DocumentKey: SeenDocument] {
    var seen = stored
    for (key, document) in stored {
      if let entry = entries[key] {
        seen[key] =
          entry.stored == document
          ? entry.changed
          : earlier.filter { $0.seen?[key] != nil }.reduce(document) { $0.changed(by: $1, at: key) }
      }
      entries[key] = Entry(stored: document, changed: (seen[key] ?? document).changed(by: write, at: key))
    }
    return seen
  }

  /// Adds a write that another engine has held.
  mutating func takeOver(_ write: LocalWrite) {
    for key in (write.seen ?? [:]).keys { entries[key] = Entry(stored: .unread, changed: .unread) }
  }
}

extension SeenDocument {
  /// As the author of a write that waits sees it after that.
  fileprivate func changed(by write: LocalWrite, at key: DocumentKey) -> SeenDocument {
    // The mutations of a refused write that is submitted again are in the file.
    guard case .read(var document, let version, _) = self, write.resubmits == nil, let identity = write.identity else {
      return .unread
    }
    let batch = MutationBatch(
      batchID: unknownBatchID, localWriteTime: write.localWriteTime,
      mutations: write.mutations.filter { $0.key == key })
    guard (try? batch.applyToLocalView(&document, mutatedFields: .empty)) != nil else { return .unread }
    return .read(document, remoteVersion: version, last: .waiting(identity))
  }
}
