internal import Dispatch
internal import HearthStore
internal import Synchronization

/// Runs checkpoints of one file in the background, on a connection of its own, so that no commit pays for them.
///
/// The log restarts only if all of it is checkpointed when a commit begins. Under steady load there is no such moment. So the writer itself
/// finishes a log that has grown to ``longLogPages``, between two commits. Few pages are left then, unless this queue gets no processor
/// time: after ``longestLogPages`` the writer finishes the log itself. It waits for a round that is under way, next to which SQLite would
/// let it write nothing back.
///
/// Nor does it restart while a read holds an earlier state. So long reads make room for it, see ``LogLimit``.
final class Checkpointer: Sendable {
  /// The number of pages that the writer writes between two rounds; 8 MiB.
  static let pagesPerRound: Int64 = 1_000
  /// The log has become long; 32 MiB.
  static let longLogPages: Int64 = 4_000
  /// The number of pages that the writer writes at most before it writes back what is left; 64 MiB.
  static let longestLogPages: Int64 = 8_000
  /// The size of a page of a file that this library has made.
  static let bytesPerPage: Int64 = 8 << 10
  /// The size of such a page in the log (https://www.sqlite.org/fileformat.html#the_write_ahead_log).
  static let bytesPerFrame: Int64 = 24 + bytesPerPage

  /// The pages that the writer had written, see `Database.writtenPages`, at the newest checkpoints.
  struct Progress {
    /// When the latest round began.
    private var round: Int64 = 0
    /// When the writer itself wrote the log back.
    private var finish: Int64 = 0

    func isFinishDue(at written: Int64) -> Bool {
      written - finish >= longestLogPages
    }

    /// - Returns: False if no round is due.
    mutating func beginRound(at written: Int64) -> Bool {
      guard written - round >= pagesPerRound else { return false }
      round = written
      return true
    }

    mutating func finish(at written: Int64) {
      finish = written
      round = written
    }
  }

  private let queue: DispatchQueue
  private let open: @Sendable () throws -> sending Database
  /// Confined by the mutex; used on `queue` only.
  private let connection = Mutex<Database?>(nil)
  private let isRunning = Atomic<Bool>(false)

  init(label: String, open: @escaping @Sendable () throws -> sending Database) {
    queue = DispatchQueue(label: label, qos: .utility)
    self.open = open
  }

  /// Begins a round unless one is running. Returns at once.
  ///
  /// - Parameter completion: Called after the round, with the length of the log; nil if the log is closed.
  func start(completion: @escaping @Sendable (Result<Database.LogState?, any Error>) -> Void) {
    guard isRunning.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged else {
      return
    }
    queue.async { [self] in
      let result = Result { try move() }
      isRunning.store(false, ordering: .releasing)
      completion(result)
    }
  }

  private func move() throws -> Database.LogState? {
    try connection.withLock { connection in
      if connection == nil { connection = try open() }
      return try connection?.checkpoint()
    }
  }

  /// Waits for a round that is under way.
  func waitForRound() {
    queue.sync {}
  }

  /// Waits for a round that is under way and closes the connection.
  func close() {
    queue.sync { connection.withLock { $0 = nil } }
  }
}
