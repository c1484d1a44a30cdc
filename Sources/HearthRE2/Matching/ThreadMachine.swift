/// Follows all ways through a program at once, in the order of their priority (Pike's construction).
///
/// Each instruction is visited once for each scalar of the text, so a search takes time proportional to the text times the program, and
/// memory that depends on the program alone. Threads carry the ends of groups only if these are asked for; then each visit may copy
/// them.
struct ThreadMachine: Sendable {
  struct Request {
    /// The place where the search begins.
    var start = 0
    /// The match has to begin there.
    var isAnchored = false
    /// The match has to end there.
    var requiredEnd: Int?
    /// Any match will do, not only the first one by priority.
    var acceptsAny = false
    /// The number of slots that threads carry: 1 for the start of the match, or all.
    var slotCount = 1
    /// The steps that may be taken; looked at behind each scalar.
    var stepLimit = Int.max
  }

  struct Found {
    /// The start of the match, and the ends of groups; -1 for a group that took no part.
    var slots: [Int]
    var end: Int
  }

  private let program: Program
  private let prefilter: Prefilter?
  /// The memory of `ThreadRun`, kept from run to run.
  private var numbers: [Int32]
  private var slots: [Int] = []
  private var steps = 0
  /// The last run needed more steps than allowed, so that it found nothing.
  private(set) var isExhausted = false
  /// The place at which the last run ended.
  private(set) var lastPlace = 0

  init(_ program: Program, prefilter: Prefilter?) {
    (self.program, self.prefilter) = (program, prefilter)
    numbers = Array(repeating: 0, count: ThreadRun.numberCount(program))
  }

  /// More slots than this are given back after a run.
  private static let keptSlots = 1 << 15

  /// The visits of instructions, and the bytes that were passed over, since the last call.
  mutating func takeSteps() -> Int {
    defer { steps = 0 }
    return steps
  }

  /// - Returns: The leftmost match, and of those that begin there the first by priority.
  mutating func run(_ request: Request, in text: UTF8Text) -> Found? {
    let needed = ThreadRun.slotMemory(program, slotCount: request.slotCount)
    if slots.count < needed { slots += repeatElement(-1, count: needed - slots.count) }
    let (program, prefilter) = (program, prefilter)
    var result: (found: Found?, place: Int, steps: Int, isExhausted: Bool) = (nil, 0, 0, false)
    numbers.withUnsafeMutableBufferPointer { numbers in
      slots.withUnsafeMutableBufferPointer { slots in
        program.instructions.withUnsafeBufferPointer { instructions in
          var run = ThreadRun(program, instructions, request, text, numbers, slots)
          let found = run.run(prefilter)
          result = (found, run.place, run.steps, run.isExhausted)
        }
      }
    }
    if slots.count > Self.keptSlots { slots = [] }
    lastPlace = result.place
    isExhausted = result.isExhausted
    steps += result.steps
    return result.found
  }
}
