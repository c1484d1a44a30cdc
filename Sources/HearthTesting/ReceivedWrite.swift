/// A write as a ``ScriptedBackend`` has received it.
public struct ReceivedWrite: Sendable, Hashable, CustomStringConvertible {
  /// The effect of a write on its document.
  public enum Kind: String, Sendable, Hashable {
    /// Replaces or creates it.
    case set
    /// Changes some of its fields.
    case update
    /// Deletes it.
    case delete
  }

  /// The document's path from the database's root, such as `"cities/SF"`.
  public let documentPath: String
  /// The effect of the write.
  public let kind: Kind

  /// Such as `set cities/SF`.
  public var description: String { "\(kind.rawValue) \(documentPath)" }
}
