/// A state of a `LazyAutomaton`.
struct AutomatonState: Hashable, Sendable {
  /// The kind of the scalar that was read last.
  var side: Boundary.Side
  /// A match may still begin at later places.
  var isSearching: Bool
  /// The instructions of all threads; by priority if that counts.
  var places: [Int32]

  var isDead: Bool { places.isEmpty && !isSearching }
}

/// Makes the states of a `LazyAutomaton` from its program.
struct StateMaker: Sendable {
  private let program: Program
  private let purpose: LazyAutomaton.Purpose
  private var visited: PlaceSet
  private var waiting: [Int32] = []
  private var steps = 0

  init(_ program: Program, _ purpose: LazyAutomaton.Purpose) {
    (self.program, self.purpose) = (program, purpose)
    visited = PlaceSet(capacity: program.instructions.count)
  }

  /// The visits of instructions since the last call.
  mutating func takeSteps() -> Int {
    defer { steps = 0 }
    return steps
  }

  mutating func start(side: Boundary.Side) -> AutomatonState {
    let canSearch = purpose == .contains || purpose == .leftmostEnd
    return AutomatonState(
      side: side, isSearching: canSearch && !program.isAnchored, places: places(from: [program.entry]))
  }

  /// - Parameter scalar: Nil for the end of the text.
  /// - Returns: The state behind the scalar, and whether a match ends before it.
  mutating func step(_ state: AutomatonState, over scalar: UInt32?) -> (next: AutomatonState, matches: Bool) {
    var next = AutomatonState(
      side: Boundary.Side(scalar, for: program.assertions), isSearching: state.isSearching, places: [])
    let isBackwards = purpose == .earliestStart
    let holding =
      isBackwards
      ? Boundary.assertions(before: scalar, after: state.side.scalar)
      : Boundary.assertions(before: state.side.scalar, after: scalar)
    var matches = false
    var targets: [Int32] = []
    for place in follow(state.places, holding) {
      let instruction = program.instructions[Int(place)]
      if instruction.operation == .match {
        // A match of the whole text ends at its end only.
        if purpose == .whole, scalar != nil { continue }
        matches = true
        if purpose == .leftmostEnd {
          // What has less priority than this match is not looked at any more.
          next.isSearching = false
          break
        }
      } else if let scalar, program.takes(instruction, scalar) {
        targets.append(instruction.next)
      }
    }
    if scalar == nil || (matches && purpose == .contains) {
      next.isSearching = false
      return (next, matches)
    }
    if next.isSearching { targets.append(program.entry) }
    next.places = places(from: targets)
    return (next, matches)
  }

  /// The places of a state: as far as possible those that its threads will come to, because different ways often lead to the same ones.
  ///
  /// Ways through assertions wait for the scalar behind them. Where priorities count, all threads wait then: a loop through an assertion
  /// that is followed from within has another order than from its start.
  private mutating func places(from targets: [Int32]) -> [Int32] {
    guard purpose == .leftmostEnd else { return follow(targets, nil).sorted() }
    if program.assertions.isEmpty { return follow(targets, nil) }
    visited.removeAll()
    return targets.filter { visited.insert($0) }
  }

  /// Follows instructions that take no scalar.
  /// - Parameter holding: The assertions that hold. Nil where these are not known yet: then the assertions themselves are in the result.
  private mutating func follow(_ starts: [Int32], _ holding: Assertions?) -> [Int32] {
    visited.removeAll()
    var result: [Int32] = []
    for start in starts {
      waiting.append(start)
      while let place = waiting.popLast() {
        guard visited.insert(place) else { continue }
        steps += 1
        let instruction = program.instructions[Int(place)]
        switch instruction.operation {
        case .match, .range, .set: result.append(place)
        case .fail: break
        case .split: waiting += [instruction.other, instruction.next]
        case .capture: waiting.append(instruction.next)
        case .assertion:
          if let holding {
            if holding.contains(Assertions(rawValue: UInt8(instruction.lower))) { waiting.append(instruction.next) }
          } else {
            result.append(place)
          }
        }
      }
    }
    return result
  }
}
