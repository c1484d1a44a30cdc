/// The reads of one file in a ``ReadSchedule``.
struct ScheduledFile {
  struct Hold {
    /// Long reads start over, and no read begins.
    var isStopping = false
    var wasDrained = false
  }

  /// The reads that wait, by ``ReadKind``.
  private var waiting = [SharedReadQueue](repeating: SharedReadQueue(), count: ReadKind.allCases.count)
  /// The reads that have a connection: they run, or wait in the middle.
  var begunCount = 0
  /// The long reads among them.
  var seatedCount = 0
  /// Reads that start over, and still have their connection.
  var leavingCount = 0
  var held: Hold?
  /// The reads that may have begun; nil while each gets a connection.
  var maximumBegun: Int?

  var waitingCount: Int { waiting.reduce(0) { $0 + $1.count } }

  func waitingCount(of kind: ReadKind) -> Int { waiting[kind.rawValue].count }

  /// True if a read that begins would find a connection, and reads are not being stopped.
  var mayBegin: Bool { held?.isStopping != true && (maximumBegun.map { begunCount < $0 } ?? true) }

  /// True if the hold, if there is one, has what it waits for: no long read holds a state of the file, or no read at all if they are being
  /// stopped.
  var isDrained: Bool {
    held?.isStopping == true ? begunCount == 0 : seatedCount == 0 && leavingCount == 0
  }

  /// Allows one more connection, to find out whether it can be opened.
  mutating func allowOneMore(upTo most: Int) {
    guard let maximum = maximumBegun else { return }
    maximumBegun = maximum + 1 < most ? maximum + 1 : nil
  }

  /// True if the first read of a kind may go on when there is a slot, and a seat if it needs one.
  func isReady(_ kind: ReadKind) -> Bool {
    guard !waiting[kind.rawValue].isEmpty else { return false }
    return switch kind {
    case .new: mayBegin
    case .paused: true
    case .unseated: held == nil && mayBegin
    }
  }

  mutating func append(_ read: WaitingRead, to kind: ReadKind) {
    waiting[kind.rawValue].append(read)
  }

  /// Puts a taken read back, as the first one.
  mutating func putBack(_ read: WaitingRead, in kind: ReadKind) {
    waiting[kind.rawValue].prepend(read)
  }

  mutating func popFirst(_ kind: ReadKind) -> WaitingRead? {
    waiting[kind.rawValue].popFirst()
  }
}

/// The kinds of reads that wait.
enum ReadKind: Int, CaseIterable {
  /// Reads that have not begun.
  case new
  /// Long reads in the middle.
  case paused
  /// Reads that became long when all seats were taken.
  case unseated
}

/// The files whose reads wait for a slot, in the order in which they get the next one.
///
/// A file is in the order of a kind of reads once, from the moment when such a read may run. If the read may no longer run when the file's
/// turn comes, the file loses its turn.
struct ReadTurns {
  private struct Order {
    var files = FirstInQueue<ReadSchedule.FileID>()
    var members: Set<ReadSchedule.FileID> = []
  }

  private var orders = [Order](repeating: Order(), count: ReadKind.allCases.count)

  var isEmpty: Bool { orders.allSatisfy { $0.files.isEmpty } }

  func isEmpty(_ kind: ReadKind) -> Bool { orders[kind.rawValue].files.isEmpty }

  /// Notes the reads of a file that may go on.
  mutating func join(_ file: ReadSchedule.FileID, _ state: ScheduledFile?) {
    assert(
      orders.allSatisfy { $0.files.count == $0.members.count },
      "a file has two turns of one kind, or none that it is said to have")
    guard let state else { return }
    for kind in ReadKind.allCases where state.isReady(kind) { join(file, kind) }
  }

  private mutating func join(_ file: ReadSchedule.FileID, _ kind: ReadKind) {
    if orders[kind.rawValue].members.insert(file).inserted { orders[kind.rawValue].files.append(file) }
  }

  /// Takes the first read of a kind of the file whose turn it is. The file's next turn comes after those of the others.
  mutating func next(
    _ kind: ReadKind, of files: inout [ReadSchedule.FileID: ScheduledFile]
  ) -> (file: ReadSchedule.FileID, read: WaitingRead)? {
    while let file = orders[kind.rawValue].files.popFirst() {
      orders[kind.rawValue].members.remove(file)
      guard files[file]?.isReady(kind) == true, let read = files[file]?.popFirst(kind) else { continue }
      if files[file]?.isReady(kind) == true { join(file, kind) }
      return (file, read)
    }
    return nil
  }
}
