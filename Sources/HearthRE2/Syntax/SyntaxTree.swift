/// Conditions on the place between two scalars of a text.
struct Assertions: OptionSet, Hashable, Sendable {
  let rawValue: UInt8

  static let textStart = Assertions(rawValue: 1)
  static let textEnd = Assertions(rawValue: 2)
  static let lineStart = Assertions(rawValue: 4)
  static let lineEnd = Assertions(rawValue: 8)
  static let wordBoundary = Assertions(rawValue: 16)
  static let noWordBoundary = Assertions(rawValue: 32)
}

/// A parsed pattern.
///
/// The nodes lie in one array, each behind those that it consists of. So nothing that walks over them, nor their release, recurses as deep
/// as a pattern nests.
struct SyntaxTree: Sendable {
  typealias NodeID = Int32

  enum Node: Sendable {
    /// Matches the empty text.
    case empty
    case range(ScalarRange)
    /// A scalar of the set with this number in `sets`.
    case set(Int32)
    case assertion(Assertions)
    /// Nodes one after the other: a range of `lists`.
    case sequence(Range<Int32>)
    /// The first that leads to a match: a range of `lists`.
    case alternatives(Range<Int32>)
    case repetition(NodeID, Repetition)
    case group(NodeID, number: Int32)
  }

  struct Repetition: Hashable, Sendable {
    var minimum: Int
    /// Nil for no limit.
    var maximum: Int?
    var isGreedy: Bool
  }

  private(set) var nodes: [Node] = []
  private(set) var lists: [NodeID] = []
  private(set) var sets: [ScalarSet] = []
  /// The node that stands for the whole pattern.
  var root: NodeID = 0
  /// The name of each group from 1 on.
  var groupNames: [String?] = []

  /// For each node, whether it can match the empty text.
  private var emptiness: [Bool] = []
  /// For each node, the number of copies that the repetitions in it demand of their innermost part.
  private var copies: [Int] = []
  private var setNumbers: [ScalarSet: Int32] = [:]
  /// Ranges of all sets together.
  private(set) var rangeCount = 0

  func canBeEmpty(_ node: NodeID) -> Bool { emptiness[Int(node)] }
  func copies(_ node: NodeID) -> Int { copies[Int(node)] }

  mutating func addEmpty() -> NodeID { add(.empty, canBeEmpty: true) }
  mutating func add(_ range: ScalarRange) -> NodeID { add(.range(range), canBeEmpty: false) }
  mutating func add(_ assertion: Assertions) -> NodeID { add(.assertion(assertion), canBeEmpty: true) }

  mutating func add(_ set: ScalarSet) -> NodeID {
    if set.ranges.count == 1 { return add(set.ranges[0]) }
    if let number = setNumbers[set] { return add(.set(number), canBeEmpty: false) }
    let number = Int32(sets.count)
    sets.append(set)
    setNumbers[set] = number
    rangeCount += set.ranges.count
    return add(.set(number), canBeEmpty: false)
  }

  mutating func addSequence(_ parts: [NodeID]) -> NodeID {
    switch parts.count {
    case 0: addEmpty()
    case 1: parts[0]
    default:
      add(
        .sequence(list(parts)), canBeEmpty: parts.allSatisfy(canBeEmpty),
        copies: parts.reduce(1) { max($0, copies($1)) })
    }
  }

  mutating func addAlternatives(_ parts: [NodeID]) -> NodeID {
    if parts.count == 1 { return parts[0] }
    return add(
      .alternatives(list(parts)), canBeEmpty: parts.contains(where: canBeEmpty),
      copies: parts.reduce(1) { max($0, copies($1)) })
  }

  mutating func addGroup(_ part: NodeID, number: Int) -> NodeID {
    add(.group(part, number: Int32(number)), canBeEmpty: canBeEmpty(part), copies: copies(part))
  }

  mutating func addRepetition(_ part: NodeID, _ repetition: Repetition) -> NodeID {
    // A part that may be there 0 times at most leaves no copy.
    let count = repetition.maximum ?? repetition.minimum
    let copies = repetition.maximum == 0 ? 1 : copies(part) * max(count, 1)
    return add(
      .repetition(part, repetition), canBeEmpty: repetition.minimum == 0 || canBeEmpty(part), copies: copies)
  }

  private mutating func list(_ parts: [NodeID]) -> Range<Int32> {
    let start = Int32(lists.count)
    lists += parts
    return start..<Int32(lists.count)
  }

  private mutating func add(_ node: Node, canBeEmpty: Bool, copies: Int = 1) -> NodeID {
    nodes.append(node)
    emptiness.append(canBeEmpty)
    self.copies.append(copies)
    return NodeID(nodes.count - 1)
  }
}
