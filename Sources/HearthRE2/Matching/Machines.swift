internal import Synchronization

/// A call would take more steps than its caller allows.
struct StepLimitExceeded: Error {}

/// The machines of one call. They remember what they have found out about the program, and are used again by later calls.
struct Machines: Sendable {
  /// The parts that all machines for a pattern share.
  final class Blueprint: Sendable {
    let forwards: Program
    let backwards: Program
    /// Nil for a program with too many classes of scalars; then threads do all the work.
    let alphabet: Alphabet?
    let prefilter: Prefilter?

    init(forwards: Program, backwards: Program) {
      (self.forwards, self.backwards) = (forwards, backwards)
      alphabet = Alphabet(forwards)
      prefilter = Prefilter(forwards)
    }
  }

  private let blueprint: Blueprint
  // Arrays of one element or none are moved at the price of a reference, and changed in place.
  private var threads: [ThreadMachine] = []
  private var automata: [[LazyAutomaton]]
  /// The place at which the last run ended; it may have looked further than its match.
  private(set) var lastPlace = 0
  /// The work of the present call, as a number that does not depend on the speed of the computer.
  fileprivate(set) var steps = 0
  /// The steps that the call may take.
  fileprivate var stepLimit = Int.max

  init(_ blueprint: Blueprint) {
    self.blueprint = blueprint
    automata = Array(repeating: [], count: LazyAutomaton.Purpose.allCases.count)
  }

  mutating func run(
    _ request: ThreadMachine.Request, in text: UTF8Text
  ) throws(StepLimitExceeded) -> ThreadMachine.Found? {
    if threads.isEmpty { threads = [ThreadMachine(blueprint.forwards, prefilter: blueprint.prefilter)] }
    var request = request
    request.stepLimit = stepLimit - steps
    let found = threads[0].run(request, in: text)
    lastPlace = threads[0].lastPlace
    steps += threads[0].takeSteps()
    if threads[0].isExhausted { throw StepLimitExceeded() }
    return found
  }

  mutating func run(
    _ purpose: LazyAutomaton.Purpose, _ text: UTF8Text, from start: Int, to end: Int
  ) throws(StepLimitExceeded) -> LazyAutomaton.Outcome {
    guard let alphabet = blueprint.alphabet else { return .givenUp }
    let number = purpose.rawValue
    if automata[number].isEmpty {
      let program = purpose == .earliestStart ? blueprint.backwards : blueprint.forwards
      automata[number] = [LazyAutomaton(program, alphabet, purpose)]
    }
    let outcome = automata[number][0].run(text, from: start, to: end, stepLimit: stepLimit - steps)
    lastPlace = automata[number][0].lastPlace
    steps += automata[number][0].takeSteps()
    if outcome == .exhausted { throw StepLimitExceeded() }
    return outcome
  }
}

/// Machines that no call uses at present, so that calls on several threads do not wait for each other.
final class MachinePool: Sendable {
  /// Machines that are kept. Each takes up to `LazyAutomaton.memoryLimit` for each purpose.
  private static let capacity = 4

  private let blueprint: Machines.Blueprint
  private let free = Mutex<[Machines]>([])

  init(_ blueprint: Machines.Blueprint) { self.blueprint = blueprint }

  func withMachines<Result>(
    _ work: inout Matcher.Work, _ body: (inout Machines) throws(StepLimitExceeded) -> Result
  ) throws(StepLimitExceeded) -> Result {
    var machines = free.withLock { $0.popLast() } ?? Machines(blueprint)
    (machines.steps, machines.stepLimit) = (work.steps, work.stepLimit)
    defer {
      work.steps = machines.steps
      free.withLock { [machines] in if $0.count < Self.capacity { $0.append(machines) } }
    }
    return try body(&machines)
  }
}
