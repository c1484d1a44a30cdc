/// A run of a `ThreadMachine` over a text, on memory that the machine lends it.
///
/// The memory has fixed sizes. Each instruction is visited at most once at a place, so that no list grows longer than the program.
struct ThreadRun {
  /// The threads at one place of a text.
  private struct Threads {
    /// The instructions that were visited: a sparse set (Briggs and Torczon 1993), which is emptied by its count.
    let positions: UnsafeMutablePointer<Int32>
    let visited: UnsafeMutablePointer<Int32>
    var visitedCount = 0
    /// The instructions that take a scalar, or end the match, by priority.
    let places: UnsafeMutablePointer<Int32>
    var count = 0
    /// The slots of each thread, one after the other.
    let slots: UnsafeMutablePointer<Int>

    mutating func removeAll() { (visitedCount, count) = (0, 0) }

    /// - Returns: False if the instruction was visited before.
    @inline(__always)
    mutating func visit(_ place: Int32) -> Bool {
      let position = Int(positions[Int(place)])
      if position < visitedCount, visited[position] == place { return false }
      positions[Int(place)] = Int32(truncatingIfNeeded: visitedCount)
      visited[visitedCount] = place
      visitedCount &+= 1
      return true
    }
  }

  private let program: Program
  private let instructions: UnsafeBufferPointer<Instruction>
  private let request: ThreadMachine.Request
  private let text: UTF8Text
  private var current: Threads
  private var following: Threads
  /// Instructions to visit; a negative number stands for a slot that gets its former value back.
  private let visits: UnsafeMutablePointer<Int32>
  private let formerValues: UnsafeMutablePointer<Int>
  /// The slots of the thread that is being followed.
  private let slots: UnsafeMutablePointer<Int>
  private(set) var place: Int
  private(set) var steps = 0
  private(set) var isExhausted = false

  /// The numbers for two lists of threads and the instructions to visit. Each split and each group has one instruction to visit at a time.
  static func numberCount(_ program: Program) -> Int { 7 * program.instructions.count + 1 }

  static func slotMemory(_ program: Program, slotCount: Int) -> Int {
    slotCount + 2 * program.threadCount * slotCount + program.instructions.count
  }

  init(
    _ program: Program, _ instructions: UnsafeBufferPointer<Instruction>, _ request: ThreadMachine.Request,
    _ text: UTF8Text, _ numbers: UnsafeMutableBufferPointer<Int32>, _ slotMemory: UnsafeMutableBufferPointer<Int>
  ) {
    (self.program, self.instructions, self.request, self.text) = (program, instructions, request, text)
    let count = instructions.count
    let slotCount = request.slotCount
    precondition(numbers.count >= Self.numberCount(program))
    precondition(slotMemory.count >= Self.slotMemory(program, slotCount: slotCount))
    guard let numbers = numbers.baseAddress, let memory = slotMemory.baseAddress else {
      preconditionFailure("a program has an instruction")
    }
    current = Threads(
      positions: numbers, visited: numbers + count, places: numbers + 2 * count, slots: memory + slotCount)
    following = Threads(
      positions: numbers + 3 * count, visited: numbers + 4 * count, places: numbers + 5 * count,
      slots: memory + slotCount * (1 + program.threadCount))
    visits = numbers + 6 * count
    slots = memory
    formerValues = memory + slotCount * (1 + 2 * program.threadCount)
    place = request.start
  }

  mutating func run(_ prefilter: Prefilter?) -> ThreadMachine.Found? {
    var found: ThreadMachine.Found?
    var before = place > 0 ? text.scalar(before: place).scalar : nil
    while true {
      if current.count == 0 {
        if found != nil || (request.isAnchored && place > request.start) { break }
        if !request.isAnchored, let prefilter {
          let next = prefilter.firstCandidate(in: text, from: place)
          steps += next - place
          if next > place { before = text.scalar(before: next).scalar }
          place = next
        }
      }
      let (scalar, width) = place < text.count ? text.scalar(at: place) : (0, 0)
      if found == nil, !request.isAnchored || place == request.start {
        for slot in 0..<request.slotCount { slots[slot] = -1 }
        slots[0] = place
        swap(&current, &following)
        follow(program.entry, at: place, assertions(before: before, after: width == 0 ? nil : scalar))
        swap(&current, &following)
      }
      let isEnd = width == 0 || place == request.requiredEnd
      if let match = step(over: isEnd ? nil : scalar, to: place + width) {
        found = match
        if request.acceptsAny { break }
      }
      if isEnd { break }
      if steps > request.stepLimit {
        isExhausted = true
        return nil
      }
      swap(&current, &following)
      before = scalar
      place += width
    }
    return found
  }

  /// Takes a scalar with each thread; `following` has the threads behind it.
  /// - Parameter scalar: Nil at the end, where only matches end.
  /// - Returns: The match that ends here. Threads behind it have less priority and end, too.
  private mutating func step(over scalar: UInt32?, to next: Int) -> ThreadMachine.Found? {
    following.removeAll()
    let after = next < text.count ? text.scalar(at: next).scalar : nil
    let holding = scalar == nil ? [] : assertions(before: scalar, after: after)
    let slotCount = request.slotCount
    for number in 0..<current.count {
      let instruction = instructions[Int(current.places[number])]
      let threadSlots = current.slots + number * slotCount
      if instruction.operation == .match {
        if request.requiredEnd == nil || request.requiredEnd == place {
          let slots = Array(UnsafeBufferPointer(start: threadSlots, count: slotCount))
          return ThreadMachine.Found(slots: slots, end: place)
        }
      } else if let scalar, program.takes(instruction, scalar) {
        slots.update(from: threadSlots, count: slotCount)
        follow(instruction.next, at: next, holding)
      }
    }
    return nil
  }

  @inline(__always)
  private func assertions(before: UInt32?, after: UInt32?) -> Assertions {
    program.assertions.isEmpty ? [] : Boundary.assertions(before: before, after: after)
  }

  /// Adds to `following` the threads that an instruction leads to without taking a scalar.
  private mutating func follow(_ start: Int32, at place: Int, _ holding: Assertions) {
    let visitedBefore = following.visitedCount
    var visitCount = 1
    var valueCount = 0
    visits[0] = start
    while visitCount > 0 {
      visitCount &-= 1
      var next = visits[visitCount]
      if next < 0 {
        valueCount &-= 1
        slots[Int(~next)] = formerValues[valueCount]
        continue
      }
      // An instruction that leads nowhere stays the next one, which was visited.
      while following.visit(next) {
        let instruction = instructions[Int(next)]
        switch instruction.operation {
        case .match, .range, .set:
          following.places[following.count] = next
          (following.slots + following.count * request.slotCount).update(from: slots, count: request.slotCount)
          following.count &+= 1
        case .fail: break
        case .split:
          visits[visitCount] = instruction.other
          visitCount &+= 1
          next = instruction.next
        case .assertion:
          if holding.contains(Assertions(rawValue: UInt8(instruction.lower))) { next = instruction.next }
        case .capture:
          let slot = Int(instruction.lower)
          if slot < request.slotCount {
            visits[visitCount] = ~Int32(slot)
            visitCount &+= 1
            formerValues[valueCount] = slots[slot]
            valueCount &+= 1
            slots[slot] = place
          }
          next = instruction.next
        }
      }
    }
    steps = steps &+ following.visitedCount &- visitedBefore
  }
}
