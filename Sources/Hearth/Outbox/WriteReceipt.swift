public import Foundation
internal import HearthCache
internal import HearthModel

/// Follows one write: until it is saved on this device, and until the backend has acknowledged or refused it.
///
/// The calls of ``DocumentReference/withReceipt``, ``CollectionReference/withReceipt`` and ``WriteBatch/commitWithReceipt()`` return it at
/// once. A program can store its ``id``; ``Firestore/receipt(for:)`` finds the write again, even after a restart and in another process
/// that shares the cache.
///
/// ```swift
/// let receipt = order.withReceipt.setData(["item": "tea", "count": 2])
/// try await receipt.saved()                            // returns offline, too: the write is on the disk
/// let commit = try await receipt.acknowledged()        // returns when the backend has it
/// print("committed:", commit.commitTime != nil)
/// ```
public struct WriteReceipt: Sendable, Identifiable {
  /// The permanent name of a write. No two writes have the same id, on any devices.
  public struct ID: Sendable, Hashable, Codable, LosslessStringConvertible {
    let identity: BatchIdentity

    init(_ identity: BatchIdentity) {
      self.identity = identity
    }

    static func random() -> ID {
      var generator = SystemRandomNumberGenerator()
      return ID(.random(using: &generator))
    }

    /// Reads an id from its text.
    ///
    /// - Parameter description: 32 hexadecimal digits, as ``description`` gives them; nil for anything else.
    public init?(_ description: String) {
      let digits = Array(description.utf8)
      guard digits.count == 2 * BatchIdentity.byteCount else { return nil }
      var bytes: [UInt8] = []
      for index in stride(from: 0, to: digits.count, by: 2) {
        guard let high = Self.value(digits[index]), let low = Self.value(digits[index + 1]) else { return nil }
        bytes.append(high << 4 | low)
      }
      guard let identity = BatchIdentity(bytes: bytes) else { return nil }
      self.identity = identity
    }

    /// Decodes the 32 digits.
    public init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      let text = try container.decode(String.self)
      guard let id = ID(text) else {
        throw DecodingError.dataCorruptedError(
          in: container, debugDescription: "The id of a receipt has 32 hexadecimal digits; this is \"\(text)\".")
      }
      self = id
    }

    /// Encodes the 32 digits.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(description)
    }

    /// 32 hexadecimal digits.
    public var description: String {
      identity.bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private static func value(_ digit: UInt8) -> UInt8? {
      switch digit {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
      case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
      default: nil
      }
    }
  }

  /// The progress of the write.
  public enum State: Sendable {
    /// It is not durable yet.
    case unsaved
    /// It is durable on this device and waits for the backend.
    case saved
    /// The backend has committed it.
    case acknowledged(WriteAcknowledgement)
    /// The write has ended without a commit, with the error that ``WriteReceipt/acknowledged()`` throws.
    case failed(NSError)
  }

  /// The name under which the write can be found again.
  public let id: ID
  private let savedOutcome = SharedOutcome<Void>()
  private let ended = SharedOutcome<WriteAcknowledgement>()

  init(id: ID) {
    self.id = id
  }

  /// The progress of the write, as known to this process.
  public var state: State {
    switch ended.result {
    case .success(let acknowledgement): .acknowledged(acknowledgement)
    case .failure(let error): .failed(error as NSError)
    case nil: savedOutcome.result == nil ? .unsaved : .saved
    }
  }

  /// Returns when the write is durable on this device: it is synchronized with the disk (`fsync`, on Apple platforms `F_FULLFSYNC`),
  /// survives the end of the process, and is sent until the backend has answered. With a cache in memory it returns when the write is
  /// queued.
  ///
  /// - Throws: An error of the cache's file; then nothing was written. `notFound` from ``RejectedWrites/resubmit(_:)`` of a write that is
  ///   not in the list; `invalidArgument` for a write that is too large to be sent; `unavailable` if the client was terminated and could
  ///   not save it.
  nonisolated(nonsending) public func saved() async throws {
    try await savedOutcome.value()
  }

  /// Returns when the backend has committed the write. While offline, it waits.
  ///
  /// - Returns: The time of the commit and the values that the backend has computed.
  /// - Throws: The error with which the backend refused the write, such as `permissionDenied` (it is then in ``Firestore/rejectedWrites``);
  ///   `aborted` if a ``ConflictRule`` has given it up (see ``Firestore/resolvedConflicts``);
  ///   `cancelled` after ``Outbox/cancel(_:evenIfSent:)``, and when the client is terminated before the answer (a write that was saved on
  ///   disk then stays in the queue, and ``Firestore/receipt(for:)`` of the next client finds it); `failedPrecondition` when another
  ///   process has cleared the cache or taken it over; errors of ``saved()``.
  @discardableResult
  nonisolated(nonsending) public func acknowledged() async throws -> WriteAcknowledgement {
    try await ended.value()
  }

  // MARK: - What the client reports

  /// - Parameter firestore: makes the values of the results.
  func completion(_ firestore: Firestore) -> WriteCompletion {
    let (savedOutcome, ended) = (savedOutcome, ended)
    return WriteCompletion(
      finish: { error in
        // Where the client cannot run at all, nothing else is called.
        guard let error else { return }
        savedOutcome.resolve(.failure(error))
        ended.resolve(.failure(error))
      },
      abandon: { [self] in fail($0) },
      receipt: ReceiptCallbacks(
        identity: id.identity, saved: { savedOutcome.resolve(.success(())) },
        ended: { [self] in end($0, firestore) }))
  }

  func fail(_ error: NSError) {
    savedOutcome.resolve(.failure(error))
    ended.resolve(.failure(error))
  }

  func wasSaved() {
    savedOutcome.resolve(.success(()))
  }

  func end(_ outcome: Result<WriteOutcome, NSError>, _ firestore: Firestore) {
    switch outcome {
    case .success(.committed(let version, let results, let conflicts)):
      savedOutcome.resolve(.success(()))
      ended.resolve(.success(WriteAcknowledgement(version, results, conflicts, firestore)))
    case .success(.failed(let error)):
      savedOutcome.resolve(.success(()))
      ended.resolve(.failure(NSError.firestore(error)))
    case .failure(let error):
      fail(error)
    }
  }
}

/// The backend's answer to a write. See ``WriteReceipt/acknowledged()``.
public struct WriteAcknowledgement: Sendable {
  /// The answer to one part of a write.
  public struct Result: Sendable {
    /// The time of the document's last change: the time of the commit, or an earlier time if the write has changed nothing.
    public let updateTime: Timestamp
    private let values: [Value]
    private let firestore: Firestore

    fileprivate init(_ result: MutationResult, _ firestore: Firestore) {
      updateTime = Timestamp(result.version.timestamp.truncatedToMicroseconds())
      values = result.transformResults
      self.firestore = firestore
    }

    /// The values that the backend has computed for ``FieldValue``s, in the order of the fields' names: the new value for increments and
    /// server timestamps, null for unions and removals of arrays. Values are as in ``DocumentSnapshot/data()``.
    public var transformResults: [Any] {
      let writer = UserDataWriter(firestore: firestore, behavior: .none)
      return values.map(writer.any)
    }
  }

  /// The time of the commit; nil if the answer is no longer kept (``Firestore/receipt(for:)``).
  public let commitTime: Timestamp?
  /// One result for each part of the write, in the order of the calls; empty if the answer is no longer kept, if a ``ConflictRule`` has
  /// replaced the parts, or if the cache was cleared securely since then.
  public let results: [Result]

  /// The conflicts of the write that a ``ConflictRule`` has resolved before the commit, with what was dropped, oldest first; empty if there was
  /// none, or if they are not kept any more (``Firestore/resolvedConflicts``).
  public let conflicts: [ResolvedConflict]

  init(
    _ version: SnapshotVersion, _ results: [MutationResult], _ conflicts: [KeptConflict], _ firestore: Firestore
  ) {
    self.conflicts = conflicts.map { ResolvedConflict($0, firestore: firestore) }
    commitTime = version == .none ? nil : Timestamp(version.timestamp.truncatedToMicroseconds())
    self.results = results.map { Result($0, firestore) }
  }
}

extension Firestore {
  /// Finds a write by the id of its receipt, including writes of earlier runs of the program and of other processes that share the cache.
  ///
  /// The outcome of a write with a receipt is kept for 30 days after the backend has answered. Within this time at least the outcomes of
  /// the last 10,000 such writes are kept. Clearing the cache removes them.
  ///
  /// - Parameter id: The id of a ``WriteReceipt``.
  /// - Returns: A receipt of the write; nil if no such write is pending and none has ended within that time.
  /// - Throws: Errors of the cache's file.
  public func receipt(for id: WriteReceipt.ID) async throws -> WriteReceipt? {
    let receipt = WriteReceipt(id: id)
    let outcome = Outcome<LocalStore.WriteFate>()
    runtime().readReceipt(id.identity, following: receipt.completion(self)) { outcome.resolve($0.mapError { $0 }) }
    switch try await outcome.value() {
    case .unknown: return nil
    case .pending: receipt.wasSaved()
    case .ended(let outcome): receipt.end(.success(outcome), self)
    }
    return receipt
  }

  /// Queues writes and returns their receipt at once.
  /// - Parameter function: The call that writes, for the message of a programming error.
  func writeWithReceipt(
    _ mutations: [Mutation], resubmitting batch: BatchID? = nil, in function: StaticString = #function
  ) -> WriteReceipt {
    let receipt = WriteReceipt(id: .random())
    let runtime = runtime(in: function)
    if mutations.isEmpty, batch == nil {
      receipt.end(.success(.committed(.none, [])), self)
    } else if let refusal = OutgoingWriteLimits.refusal(of: mutations, databaseID: databaseID) {
      receipt.fail(refusal)
    } else {
      runtime.write(mutations, resubmitting: batch, receipt: receipt.completion(self))
    }
    return receipt
  }
}
