internal import HearthModel

/// The decision of a ``ConflictRule`` about a document that both a write of this device and another client have changed. See
/// ``Firestore/resolvedConflicts``.
public struct ResolvedConflict: Sendable, Hashable, Identifiable {
  /// Names a resolved conflict for good.
  public struct ID: Sendable, Hashable {
    let kept: KeptConflict.ID
  }

  /// The document that the resolution leaves.
  public enum Outcome: Sendable, Hashable {
    /// A document with changes of both sides, or one that the program's resolver has written.
    case merged
    /// The local write, as it was made.
    case keptLocal
    /// The backend's document. The write was given up and ends with `aborted`, unless it has other documents.
    case keptRemote
    /// The backend's document, and the local one as another document.
    case keptBoth(copy: DocumentReference)
  }

  /// A field in which a change of one side, or of both, was dropped.
  public struct Field: Sendable, Hashable {
    /// The field's path in the notation of ``FieldPath``. Maps are compared field by field, arrays are values.
    public let name: String
    /// The value that the write is based on; nil if there was none, or if the cache did not have the document.
    public let base: FieldContent?
    /// The value that the write makes; nil if it leaves none.
    public let local: FieldContent?
    /// The backend's value; nil if it has none.
    public let remote: FieldContent?
    /// The side whose value stays; nil if the program's resolver has written another value.
    public let kept: ConflictResolver.Side?

    /// The sides that have changed the field and whose value the document does not have.
    public var dropped: Set<ConflictResolver.Side> {
      var sides: Set<ConflictResolver.Side> = []
      if kept != .local, local != base { sides.insert(.local) }
      if kept != .remote, remote != base { sides.insert(.remote) }
      return sides
    }
  }

  /// Names the conflict in ``ResolvedConflicts/discard(_:)``.
  public let id: ID
  /// The document.
  public let document: DocumentReference
  /// The write: ``PendingWrite/id``.
  public let write: PendingWrite.ID
  /// The write: ``WriteReceipt/id``. It can be looked up (``Firestore/receipt(for:)``) if it was made with a receipt.
  public let receiptID: WriteReceipt.ID
  /// The device's time of the resolution, in microseconds.
  public let resolvedAt: Timestamp
  /// The document that the resolution leaves.
  public let outcome: Outcome
  /// True if the local write deletes the document.
  public let isDeletedLocally: Bool
  /// True if the backend did not have the document any more.
  public let isDeletedRemotely: Bool
  /// The fields in which something was dropped, in the order of their names. Increments, array unions and server timestamps that were carried
  /// over to the backend's value are not among them.
  public let fields: [Field]

  /// The sides that have lost something: a change of a field, or the deletion of the document.
  public var dropped: Set<ConflictResolver.Side> {
    var sides = fields.reduce(into: Set<ConflictResolver.Side>()) { $0.formUnion($1.dropped) }
    switch outcome {
    case .keptRemote where isDeletedLocally, .merged where isDeletedLocally: sides.insert(.local)
    case .keptLocal where isDeletedRemotely && !isDeletedLocally, .merged where isDeletedRemotely: sides.insert(.remote)
    case .merged, .keptLocal, .keptRemote, .keptBoth: break
    }
    return sides
  }

  init(_ conflict: KeptConflict, firestore: Firestore) {
    let report = conflict.report
    let writer = UserDataWriter(firestore: firestore, behavior: .estimate)
    func content(_ value: Value?) -> FieldContent? { value.map { FieldContent($0, writer) } }
    id = ID(kept: conflict.id)
    document = DocumentReference(firestore: firestore, key: report.key)
    write = conflict.batchID
    receiptID = WriteReceipt.ID(conflict.id.identity)
    resolvedAt = Timestamp(conflict.resolvedAt.truncatedToMicroseconds())
    outcome =
      switch report.ending {
      case .merged: .merged
      case .local: .keptLocal
      case .remote: .keptRemote
      case .both(let copy): .keptBoth(copy: DocumentReference(firestore: firestore, key: copy))
      }
    isDeletedLocally = report.isDeletedLocally
    isDeletedRemotely = report.isDeletedRemotely
    fields = report.fields.map { field in
      Field(
        name: field.path.canonicalString, base: content(field.base), local: content(field.local),
        remote: content(field.remote),
        kept: field.kept.map { $0 == .local ? .local : .remote })
    }
  }
}
