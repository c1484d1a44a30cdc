internal import HearthModel

/// Finds the target for which the backend ends the watch stream.
///
/// A backend should refuse a target by itself. One that ends the stream instead, because it cannot read the request or fails at it, would
/// be asked again for all targets, and would end the stream again: none of the listeners would ever get further. So after some such ends the
/// targets are asked for one by one, each when the one before is answered, and the suspect ones last. A target at which the stream has ended
/// often enough, although another one was answered on the same stream, is given up.
///
/// | event | all at once | one by one |
/// |---|---|---|
/// | the stream opens | all targets are asked for | the first one is asked for |
/// | a target is answered | - | the next one is asked for |
/// | a target is not answered for ten seconds or more | - | the next one is asked for |
/// | a target is added | it is asked for | it is the last one, or asked for if all are answered |
/// | the stream ends, all targets are answered | - | all at once |
/// | the stream ends at a target | after ``endsBeforeSearch`` ends: one by one | it is suspect; after ``endsOfFaulty`` such ends it is given up |
/// | the stream ends for another reason | - | - |
struct FaultyTargetSearch {
  /// Streams in succession that ended before all their targets were answered.
  private static let endsBeforeSearch = 3
  /// Ends of streams at the same target.
  private static let endsOfFaulty = 4

  private var ends = 0
  /// The number of streams that ended at a target.
  private var suspicions: [TargetID: Int] = [:]
  /// The targets that were not asked for on the open stream, in their order.
  private var waiting: [TargetID] = []
  /// The one that the backend was asked for last, of those that are asked for one by one.
  private var asked: TargetID?
  /// The one that was asked for last when the timer ran out.
  private var overdue: TargetID?
  /// The targets without an answer behind which others were asked for all the same.
  private var slow: Set<TargetID> = []

  private var isOneByOne: Bool { ends >= Self.endsBeforeSearch }

  /// A stream opens.
  ///
  /// - Returns: The targets to ask for now.
  mutating func opened(_ targets: some Sequence<TargetID>) -> [TargetID] {
    (overdue, slow) = (nil, [])
    let ordered = targets.sorted { (suspicions[$0] ?? 0, $0) < (suspicions[$1] ?? 0, $1) }
    guard isOneByOne, let first = ordered.first else {
      (waiting, asked) = ([], nil)
      return ordered
    }
    (waiting, asked) = (Array(ordered.dropFirst()), first)
    return [first]
  }

  /// A target is added to the open stream.
  ///
  /// - Returns: True to ask for it now.
  mutating func added(_ target: TargetID) -> Bool {
    guard asked != nil else { return true }
    waiting.append(target)
    return false
  }

  /// A target is not wanted any more, or was refused.
  ///
  /// - Returns: True if the backend was asked for it.
  mutating func removed(_ target: TargetID) -> Bool {
    suspicions[target] = nil
    slow.remove(target)
    guard let place = waiting.firstIndex(of: target) else { return true }
    waiting.remove(at: place)
    return false
  }

  /// Goes on when the target that was asked for last is answered, or gone.
  ///
  /// - Returns: The target to ask for now.
  mutating func next(isAnswered: (TargetID) -> Bool) -> TargetID? {
    guard let last = asked, isAnswered(last) else { return nil }
    asked = waiting.isEmpty ? nil : waiting.removeFirst()
    return asked
  }

  /// The timer of the online state has run out. A target that is not answered must not keep the others from being asked for.
  ///
  /// - Returns: The target to ask for now.
  mutating func timePassed() -> TargetID? {
    guard let last = asked, last == overdue, !waiting.isEmpty else {
      overdue = asked
      return nil
    }
    slow.insert(last)
    asked = waiting.removeFirst()
    overdue = asked
    return asked
  }

  /// The open stream ends.
  ///
  /// - Parameters:
  ///   - unanswered: The targets that were not answered on it.
  ///   - hasAnswered: True if others were.
  /// - Returns: The target to give up.
  mutating func ended(_ error: StatusError?, unanswered: Set<TargetID>, hasAnswered: Bool) -> TargetID? {
    let asked = asked.map { [$0] } ?? []
    let asking = slow.union(asked).intersection(unanswered)
    // If the backend was at work on several, nobody knows which one it was.
    let suspect = asking.count == 1 ? asking.first : nil
    (waiting, self.asked, overdue, slow) = ([], nil, nil, [])
    guard !unanswered.isEmpty else {
      (ends, suspicions) = (0, [:])
      return nil
    }
    guard let error, Self.mayComeFromTarget(error) else { return nil }
    ends += 1
    guard let suspect else { return nil }
    // Without an answer to another one, the backend may be in trouble. Another one is tried first.
    let count = (suspicions[suspect] ?? 0) + 1
    suspicions[suspect] = hasAnswered ? count : min(count, Self.endsOfFaulty - 1)
    guard hasAnswered, count >= Self.endsOfFaulty else { return nil }
    suspicions[suspect] = nil
    return suspect
  }

  /// False for errors of the connection, of credentials, and of a backend with too much to do.
  private static func mayComeFromTarget(_ error: StatusError) -> Bool {
    switch error.code {
    case .unavailable, .deadlineExceeded, .unauthenticated, .resourceExhausted: false
    default: true
    }
  }
}
