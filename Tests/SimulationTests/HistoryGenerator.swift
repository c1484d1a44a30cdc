import TestSupport

/// Repeatable numbers, those of the tests' generator, with the choices of simulated histories.
struct HistoryGenerator: RandomNumberGenerator {
  private var numbers: TestSupport.SeededGenerator

  init(seed: UInt64) {
    numbers = TestSupport.SeededGenerator(seed: seed)
  }

  mutating func next() -> UInt64 { numbers.next() }

  mutating func chance(_ percent: Int) -> Bool { numbers.chance(percent) }

  mutating func pick<T>(_ choices: [T]) -> T { numbers.element(choices) }
}
