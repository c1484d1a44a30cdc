#if PostgreSQL
  internal import CPostgres

  /// Receives the notices of one connection, on the thread that reads from it.
  final class NoticeReceiver {
    private let onNotice: (@Sendable (PostgresNotice) -> Void)?
    private var hasUnreplicatedCommit = false
    /// The notice with which the server closes the connection, for instance because another session has crashed.
    private(set) var farewell: PostgresNotice?

    init(_ onNotice: (@Sendable (PostgresNotice) -> Void)?) {
      self.onNotice = onNotice
    }

    /// - Parameter connection: Must not outlive this object.
    func attach(to connection: OpaquePointer) {
      PQsetNoticeReceiver(
        connection,
        { receiver, result in
          guard let receiver, let result else { return }
          Unmanaged<NoticeReceiver>.fromOpaque(receiver).takeUnretainedValue().receive(PostgresNotice(result))
        }, Unmanaged.passUnretained(self).toOpaque())
    }

    private func receive(_ notice: PostgresNotice) {
      if notice.isUnreplicatedCommit { hasUnreplicatedCommit = true }
      if notice.sqlState?.endsSession == true || Self.lastSeverities.contains(notice.severity) { farewell = notice }
      onNotice?(notice)
    }

    /// The server closes the connection after these.
    private static let lastSeverities: Set<String> = ["FATAL", "PANIC"]

    func takeUnreplicatedCommit() -> Bool {
      defer { hasUnreplicatedCommit = false }
      return hasUnreplicatedCommit
    }
  }
#endif
