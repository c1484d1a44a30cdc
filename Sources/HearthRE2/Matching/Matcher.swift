/// Answers questions about texts with the cheapest of the machines that can.
///
/// Automata find out whether and where there is a match. A machine of threads does it where they give up, and finds the ends of groups
/// within a match.
struct Matcher: Sendable {
  private let program: Program
  private let pool: MachinePool

  /// The cost of calls, in numbers that do not depend on the speed of the computer.
  struct Work {
    /// Transitions of automata and visits of instructions.
    var steps = 0
    /// Bytes that were read to find where matches end.
    var bytes = 0
    /// The steps at which a call ends with an error.
    var stepLimit = Int.max
  }

  init(forwards: Program, backwards: Program) {
    program = forwards
    pool = MachinePool(Machines.Blueprint(forwards: forwards, backwards: backwards))
  }

  func contains(_ text: UTF8Text, work: inout Work) throws(StepLimitExceeded) -> Bool {
    try pool.withMachines(&work) { machines throws(StepLimitExceeded) in
      switch try machines.run(.contains, text, from: 0, to: text.count) {
      case .match: true
      case .noMatch: false
      case .givenUp, .exhausted:
        try machines.run(.init(isAnchored: program.isAnchored, acceptsAny: true), in: text) != nil
      }
    }
  }

  func matchesWhole(_ text: UTF8Text, work: inout Work) throws(StepLimitExceeded) -> Bool {
    try pool.withMachines(&work) { machines throws(StepLimitExceeded) in
      switch try machines.run(.whole, text, from: 0, to: text.count) {
      case .match: true
      case .noMatch: false
      case .givenUp, .exhausted:
        try machines.run(.init(isAnchored: true, requiredEnd: text.count, acceptsAny: true), in: text) != nil
      }
    }
  }

  /// - Parameter start: The place at or behind which the match begins; not within a scalar.
  /// - Returns: The ends of the leftmost match, then those of each group if they are asked for; nil for a group that took no part.
  func firstMatch(
    in text: UTF8Text, from start: Int, withGroups: Bool, work: inout Work
  ) throws(StepLimitExceeded) -> [Range<Int>?]? {
    precondition((0...text.count).contains(start), "a search begins within the text")
    if program.isAnchored, start > 0 { return nil }
    var bytes = 0
    defer { work.bytes += bytes }
    return try pool.withMachines(&work) { machines throws(StepLimitExceeded) in
      guard let range = try range(in: text, from: start, &machines, bytes: &bytes) else { return nil }
      guard withGroups, program.groupCount > 0 else { return [range] }
      let request = ThreadMachine.Request(
        start: range.lowerBound, isAnchored: true, requiredEnd: range.upperBound, slotCount: program.slotCount)
      guard let slots = try machines.run(request, in: text)?.slots else {
        assertionFailure("threads do not find the match \(range) that automata have found")
        return [range] + repeatElement(nil, count: program.groupCount)
      }
      return [range]
        + stride(from: 1, to: slots.count, by: 2).map { slots[$0 + 1] < 0 ? nil : slots[$0]..<slots[$0 + 1] }
    }
  }

  private func range(
    in text: UTF8Text, from start: Int, _ machines: inout Machines, bytes: inout Int
  ) throws(StepLimitExceeded) -> Range<Int>? {
    switch try machines.run(.leftmostEnd, text, from: start, to: text.count) {
    case .noMatch:
      bytes += text.count - start
      return nil
    case .givenUp, .exhausted: break
    case .match(let end):
      bytes += machines.lastPlace - start
      if program.isAnchored { return start..<end }
      // The leftmost match is the longest of those that end where it ends.
      if case .match(let first) = try machines.run(.earliestStart, text, from: end, to: start) {
        return first..<end
      }
    }
    let found = try machines.run(ThreadMachine.Request(start: start, isAnchored: program.isAnchored), in: text)
    bytes += machines.lastPlace - start
    return found.map { $0.slots[0]..<$0.end }
  }
}
