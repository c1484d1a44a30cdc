internal import Synchronization

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
  /// The work that was done with them, as a number that does not depend on the speed of the computer.
  private(set) var steps = 0

  init(_ blueprint: Blueprint) {
    self.blueprint = blueprint
    automata = Array(repeating: [], count: LazyAutomaton.Purpose.allCases.count)
  }

  mutating func run(_ request: ThreadMachine.Request, in text: UTF8Text) -> ThreadMachine.Found? {
    if threads.isEmpty { threads = [ThreadMachine(blueprint.forwards, prefilter: blueprint.prefilter)] }
    let found = threads[0].run(request, in: text)
    lastPlace = threads[0].lastPlace
    steps += threads[0].takeSteps()
    return found
  }

  mutating func run(
    _ purpose: LazyAutomaton.Purpose, _ text: UTF8Text, from start: Int, to end: Int
  ) -> LazyAutomaton.Outcome {
    guard let alphabet = blueprint.alphabet else { return .givenUp }
    let number = purpose.rawValue
    if automata[number].isEmpty {
      let program = purpose == .earliestStart ? blueprint.backwards : blueprint.forwards
      automata[number] = [LazyAutomaton(program, alphabet, purpose)]
    }
    let outcome = automata[number][0].run(text, from: start, to: end)
    lastPlace = automata[number][0].lastPlace
    steps += automata[number][0].takeSteps()
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

  /// - Parameter steps: Is increased by the work of the body.
  func withMachines<Result>(_ steps: inout Int, _ body: (inout Machines) -> Result) -> Result {
    var machines = free.withLock { $0.popLast() } ?? Machines(blueprint)
    let before = machines.steps
    let result = body(&machines)
    steps += machines.steps - before
    free.withLock { [machines] in if $0.count < Self.capacity { $0.append(machines) } }
    return result
  }
}
