public import Foundation
internal import HearthCache
internal import HearthModel
internal import HearthSync

/// A write, or a batch of writes, that is pending in the cache. See ``Firestore/pendingWrites()`` and ``Outbox``.
public struct PendingWrite: Sendable, Hashable, Identifiable {
  /// The kind of change that a part of a pending write makes to its document.
  public enum Kind: String, Sendable, Hashable {
    /// Replaces or creates the document.
    case set
    /// Changes some of its fields.
    case update
    /// Deletes it.
    case delete
  }

  /// The progress of a write on its way to the backend.
  public enum State: Sendable, Hashable {
    /// It is sent in a moment, or when earlier writes leave room.
    case waiting
    /// It was sent, and the backend has not answered. Another process that shares the cache counts a write as sent as soon as it may have
    /// been sent.
    case sent
    /// It cannot be sent at present, for this reason.
    case blocked(Obstacle)
  }

  /// A reason why a write is not sent.
  public enum Obstacle: Sendable, Hashable {
    /// ``Firestore/disableNetwork(completion:)`` was called.
    case networkDisabled
    /// The backend cannot be reached; with the error of the last attempt, if there was one.
    case offline(NSError?)
    /// The cache cannot be read or written at present; the log has the reason. The client retries.
    case cacheFailure
    /// The backend has other versions of these documents than the write is based on, and a ``ConflictResolver`` is at work; with its error
    /// if it has failed. Later writes wait, and so do earlier ones that were not sent yet.
    case conflict(documentPaths: [String], error: NSError?)
  }

  /// The number of the batch in the queue. Later writes have larger numbers; no number is used twice.
  public let id: Int64
  /// The time of the write by the device's clock, in microseconds.
  public let localWriteTime: Timestamp
  /// The parts in the order of the calls.
  public let operations: [WriteOperation]
  /// The progress on the way to the backend.
  public let state: State
  /// The number of failed attempts: the connection ended before an answer, or the backend was unavailable. Counted across restarts of the
  /// program.
  public let failedAttempts: Int
  /// The error of the last of those attempts.
  public let lastError: NSError?

  init(_ batch: MutationBatch, _ status: OutboxStatus, firestore: Firestore) {
    id = batch.batchID
    localWriteTime = Timestamp(batch.localWriteTime)
    operations = WriteOperation.all(of: batch, firestore: firestore)
    let attempts = status.state.attempts[batch.batchID]
    failedAttempts = attempts?.count ?? 0
    lastError = attempts.map { .firestore($0.error) }
    if status.isAtBackend(batch.batchID) {
      state = .sent
    } else if let conflict = status.conflict, conflict.batchID == batch.batchID {
      state = .blocked(
        .conflict(
          documentPaths: conflict.documents.map(\.canonicalString), error: conflict.error.map { .firestore($0) }))
    } else {
      state = status.obstacle.map { .blocked(Obstacle($0)) } ?? .waiting
    }
  }
}

extension PendingWrite.Obstacle {
  init(_ obstacle: OutboxObstacle) {
    self =
      switch obstacle {
      case .networkDisabled: .networkDisabled
      case .cacheFailure: .cacheFailure
      case .offline(let error): .offline(error.map { .firestore($0) })
      }
  }
}

/// One part of a ``PendingWrite`` or of a ``RejectedWrite``: the change of one document.
public struct WriteOperation: Sendable, Hashable, CustomStringConvertible {
  /// The document's path from the database's root, such as `"cities/SF"`.
  public let documentPath: String
  /// The kind of change of the document.
  public let kind: PendingWrite.Kind
  private let mutation: Mutation
  private let firestore: Firestore

  fileprivate static func all(of batch: MutationBatch, firestore: Firestore) -> [WriteOperation] {
    batch.mutations.compactMap { mutation in
      let kind: PendingWrite.Kind
      switch mutation.operation {
      case .set: kind = .set
      case .patch: kind = .update
      case .delete: kind = .delete
      case .verify: return nil
      }
      return WriteOperation(
        documentPath: mutation.key.canonicalString, kind: kind, mutation: mutation, firestore: firestore)
    }
  }

  init(documentPath: String, kind: PendingWrite.Kind, mutation: Mutation, firestore: Firestore) {
    self.documentPath = documentPath
    self.kind = kind
    self.mutation = mutation
    self.firestore = firestore
  }

  /// Two parts are equal if they make the same change to the same document, even if different Firestore objects returned them.
  public static func == (a: WriteOperation, b: WriteOperation) -> Bool {
    a.mutation == b.mutation
  }

  /// Hashes what ``==(_:_:)`` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(mutation)
  }

  /// The written fields, without those that the backend computes; nil for a deletion, and if they cannot be read. Values are as in
  /// ``DocumentSnapshot/data()``.
  public var data: [String: Any]? {
    let fields: EncodedFields
    switch mutation.operation {
    case .set(let data), .patch(let data, _): fields = data
    case .delete, .verify: return nil
    }
    guard let values = try? fields.decoded() else { return nil }
    return UserDataWriter(firestore: firestore, behavior: .none).dictionary(values)
  }

  /// The fields that are written, replaced or removed, in the notation of ``FieldPath``; nil for a change of the whole document.
  public var changedFields: [String]? {
    guard case .patch(_, let mask) = mutation.operation else { return nil }
    return (mask.paths.map(\.canonicalString) + mutation.transforms.map(\.path.canonicalString)).sorted()
  }

  /// The fields that the backend computes when it commits, such as increments and server timestamps, in the notation of ``FieldPath``.
  public var computedFields: [String] { mutation.transforms.map(\.path.canonicalString).sorted() }

  /// The operations of ``computedFields``, with their operands.
  public var computations: [String: FieldComputation] {
    let writer = UserDataWriter(firestore: firestore, behavior: .none)
    return Dictionary(
      mutation.transforms.map { ($0.path.canonicalString, FieldComputation($0.operation, writer)) },
      uniquingKeysWith: { _, last in last })
  }

  /// The kind, the document and the fields, for a log or a list.
  public var description: String {
    let fields = changedFields.map { ": " + $0.joined(separator: ", ") } ?? ""
    return "\(kind.rawValue) \(documentPath)\(fields)"
  }
}

/// The operation by which the backend computes a field when it commits a write. See ``WriteOperation/computations``.
public enum FieldComputation: Sendable, Hashable {
  /// The time of the commit.
  case serverTimestamp
  /// The field's number and this one.
  case increment(FieldContent)
  /// The field's array with those of the elements that it does not have.
  case arrayUnion([FieldContent])
  /// The field's array without these elements.
  case arrayRemove([FieldContent])
  /// The smaller of the field's number and this one.
  case minimum(FieldContent)
  /// The larger of the field's number and this one.
  case maximum(FieldContent)

  init(_ operation: TransformOperation, _ writer: UserDataWriter) {
    self =
      switch operation {
      case .serverTimestamp: .serverTimestamp
      case .increment(let operand): .increment(FieldContent(operand, writer))
      case .arrayUnion(let elements): .arrayUnion(elements.map { FieldContent($0, writer) })
      case .arrayRemove(let elements): .arrayRemove(elements.map { FieldContent($0, writer) })
      case .minimum(let operand): .minimum(FieldContent(operand, writer))
      case .maximum(let operand): .maximum(FieldContent(operand, writer))
      }
  }
}

extension RejectedWrite {
  static func operations(of batch: MutationBatch, firestore: Firestore) -> [WriteOperation] {
    WriteOperation.all(of: batch, firestore: firestore)
  }
}
