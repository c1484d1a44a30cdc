internal import HearthModel
internal import Synchronization

/// Lets a few decisions of rules on large documents work at the same time, and senders take turns: such a decision holds memory and a processor.
///
/// Documents that are read for a decision are given up while it waits, and read again in its turn (``RuleTurn/reading(_:documents:)``).
final class RuleTurns: Sendable {
  /// Documents beyond so many bytes are large.
  static let largeBytes = 64 << 10

  private let queue: Mutex<TurnQueue<CheckedContinuation<Void, Never>>>

  /// - Parameter places: The decisions that work at the same time, at least 2.
  init(places: Int = 4) {
    queue = Mutex(TurnQueue(places: places))
  }

  /// The number of decisions that work and that wait, for tests.
  var use: (working: Int, waiting: Int) { queue.withLock { ($0.workingCount, $0.waitingCount) } }

  fileprivate func enter(_ sender: String) async {
    await withCheckedContinuation { continuation in
      let isNow = queue.withLock { $0.enter(continuation, of: sender) }
      if isNow { continuation.resume() }
    }
  }

  fileprivate func leave(_ sender: String) {
    queue.withLock { $0.leave(sender) }?.resume()
  }
}

/// The turn of the decisions on one request, which begins when it is needed and lasts until the end of this object.
final class RuleTurn: Sendable {
  private let turns: RuleTurns?
  private let sender: String
  private let isHeld = Mutex(false)

  /// - Parameter turns: Nil if nobody waits for anybody.
  init(_ turns: RuleTurns?, of sender: String) {
    (self.turns, self.sender) = (turns, sender)
  }

  deinit {
    if isHeld.withLock({ $0 }) { turns?.leave(sender) }
  }

  /// True if no turn is needed, or this is it.
  var hasBegun: Bool { turns == nil || isHeld.withLock { $0 } }

  /// Waits for the turn. The decisions on one request are made one after the other.
  ///
  /// - Throws: CANCELLED if the task was cancelled in the meantime.
  func begin() async throws(StatusError) {
    guard let turns, !hasBegun else { return }
    await turns.enter(sender)
    isHeld.withLock { $0 = true }
    if Task.isCancelled { throw StatusError(code: .cancelled, message: "The call was cancelled.") }
  }

  /// Reads something for a decision. If its documents are large and the turn has not begun, they are given up until then, and read again.
  func reading<Answer>(
    _ read: () async throws(StatusError) -> Answer, documents: (Answer) -> [Document]
  ) async throws(StatusError) -> Answer {
    if !hasBegun {
      let answer = try await read()
      let bytes = documents(answer).reduce(0) { $0 + $1.fields.bytes.count }
      if bytes <= RuleTurns.largeBytes { return answer }
    }
    try await begin()
    return try await read()
  }
}

/// Decides who works next: senders take turns, and the callers of each are in the order of their arrival. A sender has all places but one at
/// most, so that another one never waits for all of them.
struct TurnQueue<Waiter> {
  private let places: Int
  private var lines: [String: FirstInQueue<Waiter>] = [:]
  /// The senders of `lines`, in the order of their turns.
  private var order: [String] = []
  private var working: [String: Int] = [:]
  private(set) var workingCount = 0
  private(set) var waitingCount = 0

  init(places: Int) {
    self.places = max(places, 2)
  }

  private func hasRoom(_ sender: String) -> Bool {
    workingCount < places && working[sender, default: 0] < places - 1
  }

  /// - Returns: True if it is the caller's turn now; otherwise it waits.
  mutating func enter(_ waiter: Waiter, of sender: String) -> Bool {
    if lines[sender] == nil, hasRoom(sender) {
      begin(sender)
      return true
    }
    if lines[sender] == nil { order.append(sender) }
    lines[sender, default: FirstInQueue()].append(waiter)
    waitingCount += 1
    return false
  }

  /// - Returns: The caller whose turn begins.
  mutating func leave(_ sender: String) -> Waiter? {
    assert(working[sender] != nil, "a turn ends twice")
    workingCount -= 1
    working[sender] = working[sender].flatMap { $0 > 1 ? $0 - 1 : nil }
    guard let turn = order.firstIndex(where: { hasRoom($0) }) else { return nil }
    let next = order.remove(at: turn)
    guard let waiter = lines[next]?.popFirst() else { return nil }
    if lines[next]?.isEmpty == true { lines[next] = nil } else { order.append(next) }
    waitingCount -= 1
    begin(next)
    return waiter
  }

  private mutating func begin(_ sender: String) {
    working[sender, default: 0] += 1
    workingCount += 1
  }
}
