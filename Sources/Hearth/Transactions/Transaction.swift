public import Foundation
internal import HearthModel
internal import HearthSync
internal import HearthTransport
internal import Synchronization

#if !canImport(ObjectiveC)
  /// A place for an error, as Foundation declares it on Apple platforms.
  public typealias NSErrorPointer = UnsafeMutablePointer<NSError?>?
#endif

/// One attempt at a transaction: reads from the backend, then writes that take effect together or not at all.
///
/// It is passed to the block of ``Firestore/runTransaction(_:completion:)``, and may be used only inside it, on any thread. All reads come
/// before the first write. Reads do not see local writes that have not been sent. References of another Firestore object are a programming
/// error.
public final class Transaction: NSObject {
  private struct State {
    var record = TransactionRecord()
    var hasEnded = false
  }

  private let firestore: Firestore
  private let state = Mutex(State())
  /// The user of the transaction, once a request has been made.
  let user = TransactionUser()

  init(firestore: Firestore) {
    self.firestore = firestore
  }

  // MARK: - Reading

  /// Reads a document from the backend, blocking the thread until the answer arrives.
  ///
  /// - Returns: The document, or a snapshot whose `exists` is false.
  /// - Throws: `invalidArgument` after a write of this transaction; `aborted` when the document has changed since it was read
  ///   in this transaction; `unavailable` without a connection; `failedPrecondition` when the client has been terminated; errors of
  ///   the backend, such as `permissionDenied`.
  public func getDocument(_ document: DocumentReference) throws -> DocumentSnapshot {
    requireValid { () throws(ProgrammingError) in try validate(document) }
    do {
      try state.withLock { (state) throws(StatusError) in try state.record.validateRead() }
      let found = try fetch(document.key)
      try state.withLock { (state) throws(StatusError) in try state.record.read(found) }
      return DocumentSnapshot(
        firestore: firestore, key: document.key, document: found, isFromCache: false, hasPendingWrites: false)
    } catch {
      throw NSError.firestore(error)
    }
  }

  private func fetch(_ key: DocumentKey) throws -> Document {
    let answer = Mutex<Result<[Document], NSError>?>(nil)
    let arrived = DispatchSemaphore(value: 0)
    try runningClient().callBackend { [user] transport throws(StatusError) in
      try user.hold()
      return try await transport.batchGetDocuments([key])
    } _: { result in
      answer.withLock { $0 = result }
      arrived.signal()
    }
    arrived.wait()
    guard let document = try answer.withLock({ $0 })?.get().first else {
      throw StatusError(code: .internal, message: "The backend did not answer for document \(key.canonicalString).")
    }
    return document
  }

  /// The block may be running when the client ends, so this is an error of the transaction and not a programming error:
  /// `failedPrecondition`, as in the official SDK.
  private func runningClient() throws -> ClientRuntime {
    do {
      return try firestore.startedRuntime()
    } catch {
      throw NSError.firestore(.failedPrecondition, error.message)
    }
  }

  // MARK: - Writing

  /// Adds a write as ``DocumentReference/setData(_:completion:)`` makes it.
  @discardableResult
  public func setData(_ data: [String: Any], forDocument document: DocumentReference) -> Transaction {
    add(document) { document.setMutation(data) }
  }

  /// Adds a write as ``DocumentReference/setData(_:merge:completion:)`` makes it.
  @discardableResult
  public func setData(_ data: [String: Any], forDocument document: DocumentReference, merge: Bool) -> Transaction {
    add(document) { document.setMutation(data, merge: merge) }
  }

  /// Adds a write as ``DocumentReference/setData(_:mergeFields:completion:)`` makes it.
  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference, mergeFields: [Any]
  ) -> Transaction {
    add(document) { document.setMutation(data, mergeFields: mergeFields) }
  }

  /// Adds a write as ``DocumentReference/updateData(_:completion:)`` makes it. If the document was read as missing, the
  /// transaction fails with `invalidArgument`; if it was not read and is missing, with `notFound`.
  @discardableResult
  public func updateData(_ fields: [AnyHashable: Any], forDocument document: DocumentReference) -> Transaction {
    add(document) { document.updateMutation(fields) }
  }

  func update(fieldsByName fields: [String: Any], of document: DocumentReference) -> Transaction {
    add(document) { document.updateMutation(fieldsByName: fields) }
  }

  /// Adds a write as ``DocumentReference/delete(completion:)`` makes it.
  @discardableResult
  public func deleteDocument(_ document: DocumentReference) -> Transaction {
    add(document) { .delete(document.key) }
  }

  private func add(
    _ document: DocumentReference, in function: StaticString = #function, _ mutation: () -> Mutation
  ) -> Transaction {
    requireValid(in: function) { () throws(ProgrammingError) in try validate(document) }
    let mutation = mutation()
    state.withLock { $0.record.write(mutation) }
    return self
  }

  func validate(_ document: DocumentReference) throws(ProgrammingError) {
    guard !state.withLock({ $0.hasEnded }) else {
      throw ProgrammingError("A transaction object cannot be used after its update block has been invoked.")
    }
    guard document.firestore === firestore else {
      throw ProgrammingError("Provided document reference is from a different Cloud Firestore instance.")
    }
  }

  /// Ends the block's use of the object.
  ///
  /// - Returns: The writes to commit.
  func finish() throws(StatusError) -> [Mutation] {
    try state.withLock { (state) throws(StatusError) in
      state.hasEnded = true
      return try state.record.commit()
    }
  }
}

/// The user for whom a transaction's requests are made: the reads of one user must not lead to a commit by another.
final class TransactionUser: Sendable {
  private let first = Mutex<RequestUser?>(nil)

  /// Called before a request, which always belongs to one user.
  ///
  /// - Throws: `aborted` when the first request was another user's; the next attempt is the new user's.
  func hold() throws(StatusError) {
    guard let present = RequestUser.current else { return }
    let owner = first.withLock { first in
      if first == nil { first = present }
      return first
    }
    guard owner == present else { throw StatusError(code: .aborted, message: RequestUser.changed) }
  }
}

/// The options of ``Firestore/runTransaction(with:block:completion:)``. Two are equal when their values are.
public final class TransactionOptions: NSObject, NSCopying {
  /// The maximum number of times that the block runs if documents that it has read change before the commit; 5 by default. Less than one or
  /// more than `Int32.max` is a programming error.
  public var maxAttempts: Int = 5 {
    didSet { requireValid { () throws(ProgrammingError) in try TransactionOptions.validate(maxAttempts) } }
  }

  /// An independent object with the same values.
  public func copy(with zone: NSZone? = nil) -> Any {
    let copy = TransactionOptions()
    copy.maxAttempts = maxAttempts
    return copy
  }

  /// Returns whether all values are the same.
  public override func isEqual(_ object: Any?) -> Bool {
    (object as? TransactionOptions)?.maxAttempts == maxAttempts
  }

  /// A hash of the values.
  public override var hash: Int { maxAttempts.hashValue }

  static func validate(_ maxAttempts: Int) throws(ProgrammingError) {
    guard maxAttempts > 0, maxAttempts <= Int32.max else {
      throw ProgrammingError("Invalid maximum number of attempts for transactions: \(maxAttempts)")
    }
  }
}
