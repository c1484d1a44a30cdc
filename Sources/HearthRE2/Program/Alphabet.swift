/// Classes of scalars that no instruction of a program tells apart, so that an automaton needs one transition for each class.
struct Alphabet: Sendable {
  /// The class of each ASCII byte.
  let ascii: [UInt16]
  /// A scalar of each class.
  let representatives: [UInt32]
  /// The first scalars of stretches with one class, in their order.
  private let starts: [UInt32]
  private let classes: [UInt16]

  var count: Int { representatives.count }

  /// - Returns: Nil if there are more classes than an automaton should have.
  init?(_ program: Program) {
    var sets = program.tests.map { $0.set.ranges }
    for instruction in program.instructions where instruction.operation == .range {
      sets.append([ScalarRange(instruction.lower, instruction.upper)])
    }
    // These decide which assertions hold.
    if !program.assertions.isDisjoint(with: [.lineStart, .lineEnd]) { sets.append(NamedSets.newline.ranges) }
    if !program.assertions.isDisjoint(with: [.wordBoundary, .noWordBoundary]) {
      sets.append(NamedSets.wordScalars.ranges)
    }
    sets = Array(Set(sets)).sorted { $0.lexicographicallyPrecedes($1) { ($0.lower, $0.upper) < ($1.lower, $1.upper) } }
    let starts = Self.starts(of: sets)
    let numbers = Self.classes(of: starts, sets: sets)
    guard let last = numbers.max(), last < Self.largestCount else { return nil }
    var representatives = [UInt32](repeating: 0, count: last + 1)
    for (number, start) in zip(numbers, starts).reversed() { representatives[number] = start }
    self.representatives = representatives
    self.starts = starts
    classes = numbers.map { UInt16($0) }
    var ascii: [UInt16] = []
    for (place, number) in classes.enumerated() where starts[place] < 0x80 {
      let end = place + 1 < starts.count ? min(starts[place + 1], 0x80) : 0x80
      ascii += repeatElement(number, count: Int(end - starts[place]))
    }
    self.ascii = ascii
  }

  private static let largestCount = 4096

  /// - Complexity: O(log n) in the number of stretches.
  func classOf(_ scalar: UInt32) -> UInt16 {
    var (low, high) = (0, starts.count)
    while high - low > 1 {
      let middle = (low + high) / 2
      if starts[middle] <= scalar { low = middle } else { high = middle }
    }
    return classes[low]
  }

  private static func starts(of sets: [[ScalarRange]]) -> [UInt32] {
    var starts: Set<UInt32> = [0]
    for range in sets.joined() {
      starts.insert(range.lower)
      if range.upper < ScalarSet.lastScalar { starts.insert(range.upper + 1) }
    }
    return starts.sorted()
  }

  /// Work that finding the classes may take. Beyond it, stretches that could share a class get classes of their own.
  private static let workLimit = 1_000_000

  /// Divides the stretches by one set after another.
  /// - Returns: The class of each stretch, numbered from 0 in the order in which they occur.
  private static func classes(of starts: [UInt32], sets: [[ScalarRange]]) -> [Int] {
    let places = Dictionary(uniqueKeysWithValues: zip(starts, starts.indices))
    var classes = [Int](repeating: 0, count: starts.count)
    var count = 1
    var work = 0
    for set in sets {
      var divided: [Int: Int] = [:]
      for range in set {
        let first = places[range.lower] ?? 0
        let end = range.upper < ScalarSet.lastScalar ? places[range.upper + 1] ?? starts.count : starts.count
        work += end - first
        guard work <= workLimit else { return Array(starts.indices) }
        for place in first..<end {
          if let number = divided[classes[place]] {
            classes[place] = number
          } else {
            divided[classes[place]] = count
            classes[place] = count
            count += 1
          }
        }
      }
    }
    // Numbers of classes that were divided entirely are given to others.
    var renumbered: [Int: Int] = [:]
    return classes.map { number in
      if let known = renumbered[number] { return known }
      renumbered[number] = renumbered.count
      return renumbered.count - 1
    }
  }
}
