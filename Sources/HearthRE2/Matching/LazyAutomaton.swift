/// A deterministic automaton whose states are made when a text first leads to them, in bounded memory.
///
/// A state stands for the threads that `ThreadMachine` would have at a place, without the ends of groups. A transition takes a class of
/// scalars of the `Alphabet`, or the end of the text. Whether assertions hold depends on the scalars on both sides of a place, so the
/// end of a match is seen by the transition that leaves its place.
struct LazyAutomaton: Sendable {
  enum Purpose: Int, CaseIterable, Sendable {
    /// Is there a match anywhere? The first end of one is enough.
    case contains
    /// Does the whole text match?
    case whole
    /// Where does the leftmost match end, by priority?
    case leftmostEnd
    /// For a program that runs backwards from the end of a match: where does it begin at the earliest?
    case earliestStart
  }

  enum Outcome: Equatable {
    case noMatch
    /// The place where the last match was seen.
    case match(Int)
    /// New states are needed for nearly every scalar, so that following threads is cheaper.
    case givenUp
    /// More steps were needed than allowed.
    case exhausted
  }

  /// The bytes that states may take. Most patterns need a hundredth of it.
  static let memoryLimit = 1 << 19

  private let program: Program
  private let alphabet: Alphabet
  private let purpose: Purpose
  private var maker: StateMaker
  private var states: [AutomatonState] = []
  private var numbers: [AutomatonState: Int] = [:]
  private var startRows: [Boundary.Side: Int] = [:]
  /// A row for each state, with a `Transition` for each class of scalars and one for the end.
  private var transitions: [Int32] = []
  private(set) var memory = 0
  private var steps = 0
  /// The place at which the last run ended.
  private(set) var lastPlace = 0

  /// The row of the state without threads.
  private static let deadRow = 0

  /// The row of the next state. What needs more than going on there is negative, so that one comparison finds it.
  private enum Transition {
    static let unknown: Int32 = -1

    static func encode(row: Int, matches: Bool) -> Int32 {
      let row = Int32(row)
      if !matches, row != deadRow { return row }
      return -2 - (row << 1 | (matches ? 1 : 0))
    }

    static func decode(_ transition: Int32) -> (row: Int, matches: Bool) {
      if transition >= 0 { return (Int(transition), false) }
      let code = -2 - transition
      return (Int(code >> 1), code & 1 != 0)
    }
  }

  private var rowLength: Int { alphabet.count + 1 }

  init(_ program: Program, _ alphabet: Alphabet, _ purpose: Purpose) {
    (self.program, self.alphabet, self.purpose) = (program, alphabet, purpose)
    maker = StateMaker(program, purpose)
    removeAll()
  }

  private mutating func removeAll() {
    states = []
    numbers = [:]
    startRows = [:]
    transitions = []
    memory = 0
    _ = row(of: AutomatonState(side: .other, isSearching: false, places: []))
  }

  /// - Returns: The row of a state, new or known.
  private mutating func row(of state: AutomatonState) -> Int {
    if let number = numbers[state] { return number * rowLength }
    let number = states.count
    states.append(state)
    numbers[state] = number
    transitions.append(contentsOf: repeatElement(Transition.unknown, count: rowLength))
    memory += 4 * rowLength + 4 * state.places.count + 128
    return number * rowLength
  }

  private mutating func startRow(touching scalar: UInt32?) -> Int {
    let side = Boundary.Side(scalar, for: program.assertions)
    if let row = startRows[side] { return row }
    let row = row(of: maker.start(side: side))
    startRows[side] = row
    return row
  }

  /// The transitions that were followed, and visits of instructions while states were made, since the last call.
  mutating func takeSteps() -> Int {
    defer { steps = 0 }
    return steps
  }

  // MARK: - Running

  /// Reads a text from one place to another; for `earliestStart` the second one is before the first.
  /// - Parameter stepLimit: The steps that may be taken. It is looked at where a state is made, and at the end.
  mutating func run(_ text: UTF8Text, from start: Int, to end: Int, stepLimit: Int) -> Outcome {
    let isBackwards = purpose == .earliestStart
    var reader = Reader(place: start, row: 0, lastMatch: nil)
    reader.row = startRow(
      touching: isBackwards
        ? start < text.count ? text.scalar(at: start).scalar : nil
        : start > 0 ? text.scalar(before: start).scalar : nil)
    var placeOfClearing: Int?
    while true {
      let before = reader.place
      let missing =
        isBackwards ? readBackwards(text, to: end, &reader) : readForwards(text, to: end, &reader)
      steps += abs(reader.place - before)
      if steps > stepLimit { return .exhausted }
      guard let column = missing else { break }
      if memory > Self.memoryLimit {
        // Threads need no states; they are better if few scalars find one that is known.
        if let placeOfClearing, abs(reader.place - placeOfClearing) < 10 * states.count {
          removeAll()
          return .givenUp
        }
        placeOfClearing = reader.place
        let state = states[reader.row / rowLength]
        removeAll()
        reader.row = row(of: state)
      }
      makeTransition(from: reader.row, column)
    }
    lastPlace = reader.place
    return reader.lastMatch.map { .match($0) } ?? .noMatch
  }

  private struct Reader {
    var place: Int
    var row: Int
    var lastMatch: Int?
  }

  /// Follows known transitions.
  /// - Returns: The class of an unknown transition; nil when the run is over.
  private func readForwards(_ text: UTF8Text, to end: Int, _ reader: inout Reader) -> Int? {
    transitions.withUnsafeBufferPointer { transitions in
      alphabet.ascii.withUnsafeBufferPointer { ascii in
        var (place, row) = (reader.place, reader.row)
        while row != Self.deadRow {
          // Nearly all of the time is spent here.
          while place < end, text.bytes[place] < 0x80 {
            let transition = transitions[row &+ Int(ascii[Int(text.bytes[place])])]
            if transition < 0 { break }
            row = Int(transition)
            place &+= 1
          }
          let (column, width) = place < end ? classOfScalar(at: place, text) : (alphabet.count, 0)
          let transition = transitions[row + column]
          if transition == Transition.unknown {
            (reader.place, reader.row) = (place, row)
            return column
          }
          let (next, matches) = Transition.decode(transition)
          if matches { reader.lastMatch = place }
          if width == 0 || (matches && purpose == .contains) { break }
          place += width
          row = next
        }
        (reader.place, reader.row) = (place, row)
        return nil
      }
    }
  }

  private func classOfScalar(at place: Int, _ text: UTF8Text) -> (column: Int, width: Int) {
    let (scalar, width) = text.scalar(at: place)
    return (Int(scalar < 0x80 ? alphabet.ascii[Int(scalar)] : alphabet.classOf(scalar)), width)
  }

  /// The same towards the start. What lies before `end` is looked at, but not taken.
  private func readBackwards(_ text: UTF8Text, to end: Int, _ reader: inout Reader) -> Int? {
    while reader.row != Self.deadRow {
      var (column, width) = (alphabet.count, 0)
      if reader.place > 0 {
        let (scalar, length) = text.scalar(before: reader.place)
        column = Int(scalar < 0x80 ? alphabet.ascii[Int(scalar)] : alphabet.classOf(scalar))
        width = length
      }
      let transition = transitions[reader.row + column]
      if transition == Transition.unknown { return column }
      let (next, matches) = Transition.decode(transition)
      if matches { reader.lastMatch = reader.place }
      if reader.place <= end { return nil }
      reader.place -= width
      reader.row = next
    }
    return nil
  }

  private mutating func makeTransition(from row: Int, _ column: Int) {
    let scalar = column < alphabet.count ? alphabet.representatives[column] : nil
    let (next, matches) = maker.step(states[row / rowLength], over: scalar)
    let nextRow = next.isDead ? Self.deadRow : self.row(of: next)
    transitions[row + column] = Transition.encode(row: nextRow, matches: matches)
    steps += maker.takeSteps()
  }
}
