internal import Foundation
internal import HearthModel
internal import HearthSync

/// A document whose version at the backend is not the one that a waiting write is based on.
///
/// The words of the two sides are those of ``ConflictResolution``, ``ConflictResolver/Side`` and ``ResolvedConflict``: the *local* one is the
/// write of this device, the *remote* one the backend's document.
public struct Conflict: Sendable {
  /// The document.
  public let document: DocumentReference
  /// The write: ``PendingWrite/id``.
  public let write: PendingWrite.ID
  /// The document that the write is based on; it may not exist. Nil if the cache did not have it.
  public let base: DocumentSnapshot?
  /// The document as the write makes it; it may not exist.
  public let local: DocumentSnapshot
  /// The document as the backend has it; it may not exist.
  public let remote: DocumentSnapshot

  init(_ conflict: DocumentConflict, firestore: Firestore) {
    let key = conflict.remote.key
    func snapshot(_ document: Document, isLocal: Bool) -> DocumentSnapshot {
      DocumentSnapshot(
        firestore: firestore, key: key, document: document, isFromCache: isLocal, hasPendingWrites: isLocal)
    }
    document = DocumentReference(firestore: firestore, key: key)
    write = conflict.batchID
    base = conflict.base.map { snapshot($0, isLocal: false) }
    local = snapshot(conflict.local, isLocal: true)
    remote = snapshot(conflict.remote, isLocal: false)
  }
}

/// The answer of a program to a ``Conflict``: ``keepLocal``, ``keepRemote``, ``merged(_:)`` or ``written(by:)``.
public struct ConflictResolution: Sendable {
  enum Kind: Sendable {
    case local
    case remote
    case merged(FieldMap)
    case written([Mutation], ObjectIdentifier)
  }

  let kind: Kind

  /// The local write as it was made, on the backend's document. One that the backend has deleted is created anew.
  public static var keepLocal: ConflictResolution { ConflictResolution(kind: .local) }

  /// The remote document, as the backend has it; the write is given up and ends with `aborted`, unless it has other documents.
  public static var keepRemote: ConflictResolution { ConflictResolution(kind: .remote) }

  /// These fields as the whole content of the document: a field that is not among them is deleted. To keep the others, begin with those of
  /// the remote document.
  ///
  /// ```swift
  /// var fields = conflict.remote.fieldMap() ?? [:]
  /// fields["text"] = .string(text)
  /// return .merged(fields)
  /// ```
  public static func merged(_ fields: FieldMap) -> ConflictResolution { ConflictResolution(kind: .merged(fields)) }

  /// The writes of a batch, which must write the document and may write others, such as a copy of it.
  ///
  /// - Parameter batch: Made by ``Firestore/batch()`` of the same object and not committed; it counts as committed afterwards.
  public static func written(by batch: WriteBatch) -> ConflictResolution {
    ConflictResolution(kind: .written(batch.takeMutations(), ObjectIdentifier(batch.firestore)))
  }

  /// - Throws: `invalidArgument`, with the document, for an answer that cannot be written, or is too large.
  func answer(for document: DocumentReference) throws -> ConflictAnswer {
    switch kind {
    case .local: return .keepLocal
    case .remote: return .keepRemote
    case .merged(let fields):
      do {
        let mutation = try UserDataReader.set(
          fields.objects, key: document.key, databaseID: document.firestore.databaseID)
        return try checked([mutation], document)
      } catch let error as ProgrammingError {
        throw NSError.firestore(
          .invalidArgument, "The merged fields of \"\(document.path)\" cannot be written: \(error.message)")
      }
    case .written(let mutations, let owner):
      guard owner == ObjectIdentifier(document.firestore) else {
        throw NSError.firestore(
          .invalidArgument, "The batch that resolves \"\(document.path)\" is of another Firestore object.")
      }
      return try checked(mutations, document)
    }
  }

  private func checked(_ mutations: [Mutation], _ document: DocumentReference) throws -> ConflictAnswer {
    if let refusal = OutgoingWriteLimits.refusal(of: mutations, databaseID: document.firestore.databaseID) {
      throw refusal
    }
    return .write(mutations)
  }
}
