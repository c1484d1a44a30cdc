import Dispatch
import Foundation

/// A sensor: gives one reading after the other, each when the one before it is stored.
protocol ReadingSource {
  /// The next reading in degrees Celsius, waiting for it; nil at the end.
  mutating func next() async throws -> Double?
}

/// Readings from the standard input, a number on each line.
struct LineReadings: ReadingSource {
  mutating func next() async throws -> Double? {
    while let line = await Self.nextLine() {
      if let celsius = Double(line.trimmingCharacters(in: .whitespaces)), celsius.isFinite { return celsius }
      say("ignored \"\(line)\": not a number")
    }
    return nil
  }

  /// Waits on a thread that no task needs.
  private static func nextLine() async -> String? {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(returning: readLine()) }
    }
  }
}

/// A boiler that grows warmer and colder.
struct SimulatedReadings: ReadingSource {
  let count: Int
  let pause: Duration
  private var given = 0

  init(count: Int, pause: Duration) {
    self.count = count
    self.pause = pause
  }

  mutating func next() async throws -> Double? {
    guard given < count else { return nil }
    if given > 0, pause > .zero { try await Task.sleep(for: pause) }
    given += 1
    return (600 + 50 * sin(Double(given) / 20)).rounded() / 10
  }
}
