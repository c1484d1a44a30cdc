extension SeenDocument {
  /// The base of the write if no other one is pending when it is stored.
  ///
  /// - Parameter remote: The backend's document then.
  package func base(over remote: Document) -> BaseDocument {
    guard case .read(var shown, let version, _) = self else { return BaseDocument(remote) }
    guard shown.isFound || shown.isMissing else { return BaseDocument(.unknown(remote.key)) }
    let isKnown = remote.isFound || remote.isMissing
    // Nobody has changed the document. The writes that were pending were given up, or refused, or are in it: they were carried out over the document
    // that they are based on, so that only the times are new.
    if isKnown, remote.version == version || shown.isConfirmed(by: remote) { return BaseDocument(remote) }
    shown.mutationState = .synced
    return BaseDocument(shown, isOutdated: true)
  }
}

extension Document {
  /// True if the other document is this one with times of the backend in place of estimates.
  package func isConfirmed(by remote: Document) -> Bool {
    guard isFound == remote.isFound else { return false }
    if hasSameContents(as: remote) { return true }
    guard let own = try? fields.decoded(), let other = try? remote.fields.decoded() else { return false }
    return own.isConfirmed(by: other)
  }
}

extension MapValue {
  /// True if the other fields are these with times of the backend in place of estimates.
  func isConfirmed(by remote: MapValue) -> Bool {
    count == remote.count
      && entries.allSatisfy { entry in
        switch (entry.value, remote[entry.key]) {
        case (.pendingServerTimestamp, .timestamp): true
        case (.map(let own), .map(let other)): own.isConfirmed(by: other)
        case (_, let other): entry.value == other
        }
      }
  }
}
