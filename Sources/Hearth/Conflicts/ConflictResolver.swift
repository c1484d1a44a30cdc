internal import HearthModel

/// Decides about a waiting write if the backend's document is not the one that the write is based on.
///
/// The ready-made ones compare three documents: the base of the write, the local one that it makes, and the backend's.
/// Increments, array unions and server timestamps are carried over as they are. A write without those that makes what the backend has
/// already counts as acknowledged. What a resolver has decided and dropped is in ``Firestore/resolvedConflicts``.
public struct ConflictResolver: Sendable, Hashable, CustomStringConvertible {
  /// The side that stays where both have changed the same field.
  public enum Side: String, Sendable, Hashable {
    /// The write of this device.
    case local
    /// The backend's document.
    case remote
  }

  /// A program's resolver. Two are the same only if they are one object.
  final class Custom: Sendable, Hashable {
    let limit: Duration?
    let resolve: @Sendable (Conflict) async throws -> ConflictResolution

    init(limit: Duration?, resolve: @escaping @Sendable (Conflict) async throws -> ConflictResolution) {
      self.limit = limit
      self.resolve = resolve
    }

    static func == (a: Custom, b: Custom) -> Bool { a === b }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
  }

  enum Kind: Sendable, Hashable {
    case policy(ConflictPolicy)
    case custom(Custom)
  }

  let kind: Kind
  /// The resolver in words, for a log.
  public let description: String

  /// Same as ``mergeFields(preferring:)`` with the local side.
  public static var mergeFields: ConflictResolver { mergeFields(preferring: .local) }

  /// Writes the fields that the local write has changed, and leaves the others as the backend has them.
  ///
  /// The other side's value of a field that both have changed is dropped, which ``Firestore/resolvedConflicts`` says. Maps are merged field by
  /// field, arrays are values. Of an edit and a deletion the edit stays, whichever side made it: the document is
  /// created anew, or the deletion ends with `aborted`.
  ///
  /// - Parameter side: The side whose value stays in a field that both have changed.
  public static func mergeFields(preferring side: Side) -> ConflictResolver {
    ConflictResolver(
      kind: .policy(.mergeFields(prefersRemote: side == .remote)), description: "merge fields, \(side.rawValue) first")
  }

  /// Keeps the side with the larger value in a field, such as a time or a revision, and gives up the other edit. An update that is kept changes
  /// its own fields of the backend's document.
  ///
  /// A side without the field has lost, and so has a deletion; the backend's document stays if neither is larger. A server timestamp counts
  /// as the device's time of the write. A write that is given up ends with `aborted`.
  ///
  /// - Parameter field: A field's path, split at dots.
  public static func lastWriter(by field: String) -> ConflictResolver {
    let path = requireValid { () throws(ProgrammingError) in try FieldPath.parsed(field) }
    return ConflictResolver(
      kind: .policy(.lastWriter(path)), description: "last writer by \(path.canonicalString)")
  }

  /// Leaves the backend's document as it is and writes the local one as another document of the same collection.
  ///
  /// The copy's id is the document's, `~`, and eight hexadecimal digits. A deletion is given up for an edit, and ends with `aborted`.
  public static var keepBoth: ConflictResolver {
    ConflictResolver(kind: .policy(.keepBoth), description: "keep both")
  }

  /// Asks the program.
  ///
  /// It may take as long as it needs, for example until the user has decided; the outbox behind the write waits, and
  /// ``PendingWrite/State/blocked(_:)`` says for what. After a restart of the program the question is asked again. If it fails or gives no
  /// valid answer, nothing is lost: the write waits, and the question is asked again after ``Outbox/retryNow()``, when the network is
  /// enabled, and at the next start. ``Outbox/cancel(_:evenIfSent:)`` gives the write up, with `evenIfSent` because an earlier attempt to send
  /// it may have come through.
  ///
  /// - Parameters:
  ///   - limit: The time after which a missing answer counts as the error `deadlineExceeded`; nil for none.
  ///   - resolve: Called outside of any queue, once for each document of a write that is in conflict. A document with several waiting writes
  ///     is resolved write by write. Its task is cancelled when its answer is not needed any more: the write was cancelled, or another user
  ///     or process has its turn; then it may be called again later.
  public static func custom(
    within limit: Duration? = nil, _ resolve: @escaping @Sendable (Conflict) async throws -> ConflictResolution
  ) -> ConflictResolver {
    ConflictResolver(kind: .custom(Custom(limit: limit, resolve: resolve)), description: "ask the program")
  }
}
