import Foundation
import Synchronization
import TestSupport
import Testing

/// One test for the bounds of `hearth serve`: each ``Kind`` of attack on a running server, with an honest client at the same time, compared
/// with the kind's ``Budget``.
///
/// Environment:
/// - `HEARTH_SECONDS`: go on for so long, with kinds, sizes and orders that follow from a seed, instead of each kind once.
/// - `HEARTH_TEST_SEED`: the seed of such a run, to repeat it.
/// - `HEARTH_BOUNDS_KIND`: only kinds whose name contains this text.
/// - `HEARTH_BOUNDS_SERVER`: another program `hearth`.
@Suite(
  "hearth serve under attack", .serialized,
  .enabled(if: ProcessFigures.canBeRead, "needs /proc of Linux, to count memory"))
struct BoundsTests {
  private static let seconds = Int(environment["HEARTH_SECONDS"] ?? "") ?? 0
  private static let environment = ProcessInfo.processInfo.environment

  @Test("keeps to its budgets of memory, files, descriptors and time", .timeLimit(.minutes(seconds / 60 + 10)))
  func budgets() async throws {
    let kinds = Kind.all.filter { Self.environment["HEARTH_BOUNDS_KIND"].map($0.name.contains) ?? true }
    let run = try await BoundsRun()
    do {
      try await attack(kinds, run)
      await run.end()
    } catch {
      await run.end()
      throw error
    }
  }

  private func attack(_ kinds: [Kind], _ run: BoundsRun) async throws {
    for kind in kinds { try await attack(kind, size: 1, run) }
    guard Self.seconds > 0 else { return }
    let end = ContinuousClock.now + .seconds(Self.seconds)
    let seed = SeededGenerator.askedSeed ?? UInt64.random(in: 0...(.max))
    print("bounds: seed \(seed)")
    var generator = SeededGenerator(seed: seed)
    while ContinuousClock.now < end { try await attack(generator.element(kinds), size: 1 + generator.below(4), run) }
  }

  private func attack(_ kind: Kind, size: Int, _ run: BoundsRun) async throws {
    let outcome = try await run.attack(kind, size: size)
    let excesses = outcome.excesses(over: kind.budget, baseline: run.baseline)
    print("bounds: \(kind.name)\(size > 1 ? " x \(size)" : ""): \(outcome.summary)")
    #expect(excesses.isEmpty, "\(kind.name), \(size) times the usual clients")
  }
}
