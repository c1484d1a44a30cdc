/// Turns a tree into a program.
///
/// A node is compiled when it is known what follows it, so from the last part of a pattern to the first. What is still to be done lies
/// on a stack of its own.
struct Compiler {
  enum Direction {
    case forwards
    /// For a text that is read from its end; groups capture nothing.
    case backwards
  }

  private enum Task {
    case node(SyntaxTree.NodeID)
    /// Lets this instruction follow the part that is compiled next.
    case follow(Int32)
    /// The entry of an alternative.
    case keepEntry
    /// Chains this many entries.
    case joinEntries(Int)
    /// Closes a loop at this split. The loop is entered at the split if its part may be left out, otherwise at the part.
    case closeLoop(split: Int32, out: Int32, isGreedy: Bool, entersAtSplit: Bool)
    /// Lets the part that was compiled last be left out.
    case makeOptional(out: Int32, isGreedy: Bool)
    /// So many copies of a node; those that may be left out go on at `out`.
    case copies(SyntaxTree.NodeID, Int, out: Int32?, isGreedy: Bool)
    case startGroup(Int32)
  }

  private let tree: SyntaxTree
  private let direction: Direction
  private let limit: Int
  private var instructions: [Instruction] = []
  private var assertions: Assertions = []
  private var tasks: [Task] = []
  private var entries: [Int32] = []
  /// The instruction at which what was compiled last begins.
  private var entry: Int32 = 0
  /// Tasks that were carried out. Copies of nothing take time, too.
  private var taskCount = 0

  /// - Returns: Nil if the program would exceed the limit.
  static func compile(_ tree: SyntaxTree, _ direction: Direction, limit: Int) -> Program? {
    var compiler = Compiler(tree, direction, limit: limit)
    return compiler.compile()
  }

  private init(_ tree: SyntaxTree, _ direction: Direction, limit: Int) {
    (self.tree, self.direction, self.limit) = (tree, direction, limit)
  }

  private mutating func compile() -> Program? {
    entry = emit(Instruction(operation: .match))
    tasks.append(.node(tree.root))
    while let task = tasks.popLast() {
      taskCount += 1
      guard instructions.count <= limit, taskCount <= 4 * limit else { return nil }
      perform(task)
    }
    guard instructions.count <= limit else { return nil }
    return Program(
      instructions: instructions, tests: tree.sets.map { ScalarTest($0) }, entry: entry,
      groupCount: direction == .forwards ? tree.groupNames.count : 0, assertions: assertions,
      threadCount: instructions.count { [.match, .range, .set].contains($0.operation) }, isAnchored: isAnchored)
  }

  private var isAnchored: Bool {
    var place = Int(entry)
    while instructions[place].operation == .capture { place = Int(instructions[place].next) }
    return instructions[place].operation == .assertion
      && Assertions(rawValue: UInt8(instructions[place].lower)) == .textStart
  }

  private mutating func emit(_ instruction: Instruction) -> Int32 {
    instructions.append(instruction)
    return Int32(instructions.count - 1)
  }

  private mutating func perform(_ task: Task) {
    switch task {
    case .node(let node): start(node)
    case .follow(let next): entry = next
    case .keepEntry: entries.append(entry)
    case .joinEntries(let count):
      entry = entries.removeLast()
      for _ in 1..<count {
        entry = emit(Instruction(operation: .split, next: entries.removeLast(), other: entry))
      }
    case .closeLoop(let split, let out, let isGreedy, let entersAtSplit):
      instructions[Int(split)] = Self.split(entry, out: out, isGreedy: isGreedy)
      if entersAtSplit { entry = split }
    case .makeOptional(let out, let isGreedy):
      entry = emit(Self.split(entry, out: out, isGreedy: isGreedy))
    case .copies(let node, let count, let out, let isGreedy):
      guard count > 0 else { break }
      tasks.append(.copies(node, count - 1, out: out, isGreedy: isGreedy))
      if let out { tasks.append(.makeOptional(out: out, isGreedy: isGreedy)) }
      tasks.append(.node(node))
    case .startGroup(let slot):
      entry = emit(Instruction(operation: .capture, next: entry, lower: UInt32(slot)))
    }
  }

  private static func split(_ part: Int32, out: Int32, isGreedy: Bool) -> Instruction {
    Instruction(operation: .split, next: isGreedy ? part : out, other: isGreedy ? out : part)
  }

  /// Compiles a node, with what was compiled last behind it.
  private mutating func start(_ node: SyntaxTree.NodeID) {
    switch tree.nodes[Int(node)] {
    case .empty: break
    case .range(let range):
      entry = emit(Instruction(operation: .range, next: entry, lower: range.lower, upper: range.upper))
    case .set(let number):
      let isEmpty = tree.sets[Int(number)].ranges.isEmpty
      entry = emit(Instruction(operation: isEmpty ? .fail : .set, next: entry, lower: UInt32(number)))
    case .assertion(let assertion):
      assertions.insert(assertion)
      entry = emit(Instruction(operation: .assertion, next: entry, lower: UInt32(assertion.rawValue)))
    case .sequence(let parts):
      let parts = tree.lists[Int(parts.lowerBound)..<Int(parts.upperBound)]
      // The task that was added last is carried out first.
      if direction == .forwards {
        tasks += parts.lazy.map { .node($0) }
      } else {
        tasks += parts.reversed().lazy.map { .node($0) }
      }
    case .alternatives(let parts):
      tasks.append(.joinEntries(parts.count))
      for part in tree.lists[Int(parts.lowerBound)..<Int(parts.upperBound)].reversed() {
        tasks += [.keepEntry, .node(part), .follow(entry)]
      }
    case .repetition(let part, let repetition): start(repetition, of: part)
    case .group(let part, let number):
      guard direction == .forwards else { return tasks.append(.node(part)) }
      entry = emit(Instruction(operation: .capture, next: entry, lower: UInt32(2 * number)))
      tasks += [.startGroup(2 * number - 1), .node(part)]
    }
  }

  private mutating func start(_ repetition: SyntaxTree.Repetition, of part: SyntaxTree.NodeID) {
    let isGreedy = repetition.isGreedy
    if let maximum = repetition.maximum {
      // The parts that may be left out stand within each other: after one that is missing, none follows.
      tasks.append(.copies(part, repetition.minimum, out: nil, isGreedy: isGreedy))
      tasks.append(.copies(part, maximum - repetition.minimum, out: entry, isGreedy: isGreedy))
      return
    }
    tasks.append(.copies(part, repetition.minimum - 1, out: nil, isGreedy: isGreedy))
    let out = entry
    let split = emit(Instruction(operation: .fail))
    // A part that can be empty is not passed by: "(|a)*" captures the empty text, as in RE2 since 2021 and Go since 1.16.
    let entersAtSplit = repetition.minimum == 0 && !tree.canBeEmpty(part)
    if repetition.minimum == 0, !entersAtSplit { tasks.append(.makeOptional(out: out, isGreedy: isGreedy)) }
    tasks.append(.closeLoop(split: split, out: out, isGreedy: isGreedy, entersAtSplit: entersAtSplit))
    tasks += [.node(part), .follow(split)]
  }
}
