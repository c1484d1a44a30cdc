import TestSupport
import Testing

/// The randomised contract: whatever users, backend, network and storage do, and in whatever order, views show the documents that the
/// backend has delivered with the pending writes on top, every write counts once, and in the end everything is in sync.
///
/// ``Seeds`` says how to run other histories, and one of them again.
@Suite("Simulation")
struct SimulationTests {
  @Test(
    "any sequence of events leaves the client in sync", arguments: Seeds.groups(.exact, .file, .eager, .collected))
  func contract(_ group: Seeds.Group) async { await group.run() }

  @Test(
    "queries that run in the background show what they would have shown on it", arguments: Seeds.groups(.background))
  func background(_ group: Seeds.Group) async { await group.run() }

  @Test(
    "folders that are put back or copied to other devices lose and double no write", arguments: Seeds.groups(.copies))
  func copies(_ group: Seeds.Group) async { await group.run() }

  @Test("answers that cannot be understood do no harm that lasts", arguments: Seeds.groups(.poison))
  func poison(_ group: Seeds.Group) async { await group.run() }

  @Test(
    "a damaged cache is repaired or saved, and loses only what was in the damage",
    arguments: Seeds.groups(.damagedRows, .damagedPages))
  func damage(_ group: Seeds.Group) async { await group.run() }

  /// Only caches in memory: errors of files name the history's folder.
  @Test(
    "the same events give the same actions, in the same order",
    arguments: (1...60).filter { [.exact, .eager].contains(History.Kind(seed: $0)) } as [UInt64])
  func determinism(_ seed: UInt64) async throws {
    let runs = await HeavyWork.run {
      Result { (try Simulation.actions(seed: seed), try Simulation.actions(seed: seed)) }
    }
    let (first, second) = try runs.get()
    #expect(first.count > 20 && first.count == second.count)
    #expect(zip(first, second).first { $0 != $1 } == nil)
  }
}
