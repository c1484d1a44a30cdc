/// A condition on the stored document. If it does not hold, the mutation is not applied.
package enum Precondition: Hashable, Sendable {
  /// Always holds.
  case none
  /// The document exists, or does not exist.
  case exists(Bool)
  /// The document exists and was last changed at exactly this time. The time 0, ``SnapshotVersion/none``, means that it does not exist:
  /// mobile SDKs before November 2022 send it for what their transactions read as missing.
  case updateTime(SnapshotVersion)

  /// Returns whether the precondition holds. An unknown document counts as one that does not exist.
  package func isSatisfied(by document: Document) -> Bool {
    switch self {
    case .none: true
    case .exists(let exists): document.isFound == exists
    case .updateTime(.none): !document.isFound
    case .updateTime(let version): document.isFound && document.version == version
    }
  }
}
