#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres
  internal import Synchronization

  /// Reads single documents as they are now. Reads at the same time share a statement.
  ///
  /// A read of a quiet node goes at once. While ``maximumStatements`` are on their way, later reads wait, and the next statement takes them together:
  /// ten documents cost PostgreSQL and the node little more than one. A statement is sent after all of its reads have come, so each of them sees what
  /// was committed before it. Senders take turns.
  final class PointReads: Sendable {
    typealias ReadID = ReadSchedule.ReadID

    fileprivate struct Read {
      var key: DocumentKey
      var deadline: ContinuousClock.Instant
      var continuation: CheckedContinuation<QueryAnswer, any Error>
    }

    fileprivate struct State {
      /// The statements on their way.
      var statements = 0
      /// The reads without a statement.
      var queue = SharedReadQueue()
      /// The reads of `queue` and of statements that have taken them from it. Cancelled ones are gone.
      var reads: [ReadID: Read] = [:]
      var lastID = 0
    }

    /// The reads of a statement, in order.
    fileprivate struct Group {
      var members: [(place: WaitingRead, key: DocumentKey)] = []
      /// The deadline of the earliest read.
      var deadline = ContinuousClock.Instant.now + ClusterEngine.callTime
    }

    /// The statements on their way at most, each with a session.
    fileprivate static let maximumStatements = 2
    /// The documents of a statement.
    private static let maximumKeys = 64
    /// The sender of the statements at the pool of sessions. They are of many senders, and no sender's long reads keep them waiting.
    private static let sender = "documents"

    private let state = Mutex(State())

    /// The reads that wait for a statement.
    var waitingCount: Int { state.withLock { $0.queue.count } }

    /// Reads one document.
    ///
    /// - Throws: As a read, see ``ServerStorage``; `cancelled` if the task is cancelled.
    func document(_ key: DocumentKey, of storage: ClusterStorage) async throws(StatusError) -> QueryAnswer {
      do {
        guard state.withLock({ $0.begin() }) else { return try await wait(for: key, of: storage) }
        defer { end(of: storage) }
        return try await read([key], by: ClusterEngine.deadline, of: storage)[0].get()
      } catch {
        throw storage.engine.status(of: error, in: storage.databaseID)
      }
    }

    private func wait(for key: DocumentKey, of storage: ClusterStorage) async throws -> QueryAnswer {
      let (sender, deadline) = (CallSender.current, ClusterEngine.deadline)
      let id = state.withLock { $0.newID() }
      return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          let read = Read(key: key, deadline: deadline, continuation: continuation)
          let startsNow = state.withLock { $0.add(read, WaitingRead(id: id, sender: sender)) }
          // If the handler has run before, it has found nothing.
          if Task.isCancelled { cancel(id) }
          if startsNow { Task { await serve(storage) } }
        }
      } onCancel: {
        cancel(id)
      }
    }

    private func cancel(_ id: ReadID) {
      let read = state.withLock { $0.reads.removeValue(forKey: id) }
      read?.continuation.resume(throwing: PostgresError(.cancelled, "The call was cancelled."))
    }

    /// Passes the place of a statement on to those that wait.
    private func end(of storage: ClusterStorage) {
      let isLast = state.withLock { $0.endIfIdle() }
      if !isLast { Task { await serve(storage) } }
    }

    /// Sends statements until no read waits.
    private func serve(_ storage: ClusterStorage) async {
      repeat {
        let (group, expired) = state.withLock { $0.takeGroup(atMost: Self.maximumKeys, at: .now) }
        for read in expired {
          read.continuation.resume(throwing: PostgresError(.deadline, "No document was read before the deadline."))
        }
        guard !group.members.isEmpty else { continue }
        do {
          answer(group, try await read(group.members.map(\.key), by: group.deadline, of: storage))
        } catch {
          answer(group, Array(repeating: .failure(error), count: group.members.count))
        }
      } while !state.withLock { $0.endIfIdle() }
    }

    /// - Parameter answers: Those of the first members; documents of many bytes are read by several statements.
    private func answer(_ group: Group, _ answers: [Result<QueryAnswer, any Error>]) {
      let reads = state.withLock { $0.finish(group, answered: answers.count) }
      for (read, answer) in zip(reads, answers) { read?.continuation.resume(with: answer) }
    }

    /// Reads the first of some documents with one statement.
    private func read(
      _ keys: [DocumentKey], by deadline: ContinuousClock.Instant, of storage: ClusterStorage
    ) async throws -> [Result<QueryAnswer, any Error>] {
      try storage.requireOpen()
      return try await CallSender.$current.withValue(Self.sender) {
        try await storage.engine.repeating(on: storage.engine.reads, deadline: deadline) { session in
          try storage.withNumber(on: session) {
            try storage.reader($0).presentDocumentsEach(keys, bytes: PieceSizes().bytes, on: session)
          }
        }
      }
    }
  }

  extension PointReads.State {
    /// - Returns: False if the read has to wait.
    mutating func begin() -> Bool {
      guard statements < PointReads.maximumStatements, queue.isEmpty else { return false }
      statements += 1
      return true
    }

    mutating func newID() -> PointReads.ReadID {
      lastID += 1
      return lastID
    }

    /// - Returns: True if the caller has to send a statement.
    mutating func add(_ read: PointReads.Read, _ place: WaitingRead) -> Bool {
      reads[place.id] = read
      queue.append(place)
      // One may have ended since the read was told to wait.
      guard statements < PointReads.maximumStatements else { return false }
      statements += 1
      return true
    }

    /// - Returns: False if reads wait: then the caller keeps its place.
    mutating func endIfIdle() -> Bool {
      assert(statements > 0, "a statement ends that has not begun")
      guard queue.isEmpty else { return false }
      statements -= 1
      return true
    }

    /// - Returns: Also the reads whose time is over.
    mutating func takeGroup(
      atMost count: Int, at now: ContinuousClock.Instant
    ) -> (group: PointReads.Group, expired: [PointReads.Read]) {
      var group = PointReads.Group()
      var expired: [PointReads.Read] = []
      while group.members.count < count, let place = queue.popFirst() {
        guard let read = reads[place.id] else { continue }
        if read.deadline <= now {
          expired.append(read)
          reads[place.id] = nil
        } else {
          group.members.append((place, read.key))
          group.deadline = min(group.deadline, read.deadline)
        }
      }
      return (group, expired)
    }

    /// Forgets the first reads of a group, and puts the others back.
    ///
    /// - Returns: The first ones; nil for cancelled ones.
    mutating func finish(_ group: PointReads.Group, answered: Int) -> [PointReads.Read?] {
      for (place, _) in group.members.dropFirst(answered).reversed() where reads[place.id] != nil {
        queue.prepend(place)
      }
      return group.members.prefix(answered).map { reads.removeValue(forKey: $0.place.id) }
    }
  }
#endif
