public import Foundation
internal import HearthModel

/// Several writes that take effect together or not at all, locally and at the backend.
///
/// ```swift
/// let batch = db.batch()
/// batch.setData(["name": "Oakland"], forDocument: cities.document("OAK"))
/// batch.deleteDocument(cities.document("DC"))
/// try await batch.commit()
/// ```
///
/// The writes apply in the order of the calls; the same document may be written several times. Using a batch after ``commit(completion:)``,
/// or a reference of another Firestore object, is a programming error. Use a batch only in the task or on the queue that created it.
public final class WriteBatch: NSObject {
  let firestore: Firestore
  private var mutations: [Mutation] = []
  private var isCommitted = false

  init(firestore: Firestore) {
    self.firestore = firestore
  }

  /// Adds a write as ``DocumentReference/setData(_:completion:)`` makes it.
  @discardableResult
  public func setData(_ data: [String: Any], forDocument document: DocumentReference) -> WriteBatch {
    add(document) { document.setMutation(data) }
  }

  /// Adds a write as ``DocumentReference/setData(_:merge:completion:)`` makes it.
  @discardableResult
  public func setData(_ data: [String: Any], forDocument document: DocumentReference, merge: Bool) -> WriteBatch {
    add(document) { document.setMutation(data, merge: merge) }
  }

  /// Adds a write as ``DocumentReference/setData(_:mergeFields:completion:)`` makes it.
  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference, mergeFields: [Any]
  ) -> WriteBatch {
    add(document) { document.setMutation(data, mergeFields: mergeFields) }
  }

  /// Adds a write as ``DocumentReference/updateData(_:completion:)`` makes it. If the document does not exist at the backend, the
  /// whole batch fails with `notFound`.
  @discardableResult
  public func updateData(_ fields: [AnyHashable: Any], forDocument document: DocumentReference) -> WriteBatch {
    add(document) { document.updateMutation(fields) }
  }

  func update(
    fieldsByName fields: [String: Any], of document: DocumentReference, in function: StaticString = #function
  ) -> WriteBatch {
    add(document, in: function) { document.updateMutation(fieldsByName: fields, in: function) }
  }

  /// Adds a write as ``DocumentReference/delete(completion:)`` makes it.
  @discardableResult
  public func deleteDocument(_ document: DocumentReference) -> WriteBatch {
    add(document) { .delete(document.key) }
  }

  /// Commits the writes; they are visible locally at once, in one round of events. An empty batch succeeds at once, even offline. If the
  /// backend refuses one of the writes, all of them are reverted.
  ///
  /// - Parameter completion: As in ``DocumentReference/setData(_:completion:)``.
  public func commit(completion: (((any Error)?) -> Void)? = nil) {
    firestore.write(takeMutations(), completion)
  }

  /// Same as ``commit(completion:)``, but waits for the backend's answer, for as long as the client is offline.
  nonisolated(nonsending) public func commit() async throws {
    try await firestore.write(takeMutations())
  }

  private func add(
    _ document: DocumentReference, in function: StaticString = #function, _ mutation: () -> Mutation
  ) -> WriteBatch {
    requireValid(in: function) { () throws(ProgrammingError) in try validate(document) }
    mutations.append(mutation())
    return self
  }

  func takeMutations(in function: StaticString = #function) -> [Mutation] {
    requireValid(in: function) { () throws(ProgrammingError) in try validateIsOpen() }
    isCommitted = true
    return mutations
  }

  func validate(_ document: DocumentReference) throws(ProgrammingError) {
    try validateIsOpen()
    guard document.firestore === firestore else {
      throw ProgrammingError("Provided document reference is from a different Cloud Firestore instance.")
    }
  }

  func validateIsOpen() throws(ProgrammingError) {
    guard !isCommitted else {
      throw ProgrammingError("A write batch can no longer be used after commit has been called.")
    }
  }
}
