#if PostgreSQL
  internal import Dispatch
  internal import Synchronization

  /// A place for a session of a pool, with its own thread while it works.
  final class SessionLane: Sendable {
    private let queue: DispatchQueue
    /// Confined by the mutex; used by the caller that has the lane only.
    private let session = Mutex<PostgresSession?>(nil)
    private let isConnected = Atomic(false)

    init(label: String) {
      queue = DispatchQueue(label: label)
    }

    /// True if there is a session, which may be lost.
    var isOpen: Bool { isConnected.load(ordering: .relaxed) }

    func async(_ body: @escaping @Sendable () -> Void) { queue.async(execute: body) }

    /// Runs `body` with the lane's session. Opens one if there is none, or if it was lost since its last use, or must not be used any more.
    ///
    /// - Parameters:
    ///   - isCurrent: Returns true if an open session may still be used.
    ///   - open: Opens a session.
    ///   - begin: Called before `body`. Returns false if the caller was cancelled.
    func withSession<Result>(
      deadline: ContinuousClock.Instant, isCurrent: (@Sendable (PostgresSession) -> Bool)?,
      open: @Sendable () throws -> PostgresSession,
      begin: @Sendable (SessionCanceller) -> Bool, _ body: @Sendable (PostgresSession) throws -> Result
    ) throws -> Result {
      try session.withLock { session in
        session?.checkConnection()
        if let open = session, open.isUsable, isCurrent?(open) == false { open.discard() }
        if session?.isUsable != true {
          session = nil
          isConnected.store(false, ordering: .relaxed)
          session = try open()
          isConnected.store(true, ordering: .relaxed)
        }
        guard let session else { throw PostgresError(.connection, "There is no session.") }
        session.deadline = deadline
        session.canceller.reset()
        guard begin(session.canceller) else { throw PostgresError(.cancelled, "The call was cancelled.") }
        do {
          return try body(session)
        } catch let error as PostgresError where error.isReadOnly {
          // The server is not the primary any more: the next session may lead to another one.
          session.discard()
          throw error
        }
      }
    }

    /// Rolls back a transaction that the caller has left open.
    ///
    /// - Parameter willRollBack: Called before it if there is one.
    func leaveTransaction(_ willRollBack: () -> Void) {
      session.withLock { session in
        guard let session, session.isInTransaction else { return }
        willRollBack()
        session.leaveTransaction()
      }
    }

    func close() {
      session.withLock { $0 = nil }
      isConnected.store(false, ordering: .relaxed)
    }
  }
#endif
