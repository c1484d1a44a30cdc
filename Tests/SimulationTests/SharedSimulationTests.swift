import Testing

/// Several clients on one cache file: whatever they, the backend and the storage do, in whatever order, and wherever one of them stops or
/// ends, all show what ``SharedReference`` computes, every write counts once, and in the end everything is in sync.
///
/// `HEARTH_SIMULATION_SEED` runs one seed and prints all events and actions; `HEARTH_SHARED_SEEDS` sets how many there are, and
/// `HEARTH_SIMULATION_FIRST` with which they begin.
@Suite("Several clients in the simulation")
struct SharedSimulationTests {
  @Test(
    "any sequence of events leaves all clients in sync",
    arguments: SharedSimulation.groups("HEARTH_SHARED_SEEDS", count: 1000))
  func contract(_ first: UInt64) async { await SharedSimulation.runGroup(first) }
}
