import Testing

/// Several processes on one cache folder: whatever happens to its files, to the processes and to their networks, every write counts once,
/// no caller waits permanently, and in the end everything is in sync.
///
/// `HEARTH_SIMULATION_SEED` runs one seed and prints all events and actions; `HEARTH_FOLDER_SEEDS` sets how many there are, and
/// `HEARTH_SIMULATION_FIRST` with which they begin.
@Suite("Several processes on one cache folder in the simulation")
struct FolderSimulationTests {
  @Test(
    "whatever happens to the folder, every write counts once and all processes come to rest",
    arguments: FolderSimulation.groups("HEARTH_FOLDER_SEEDS", count: 400))
  func contract(_ first: UInt64) async { await FolderSimulation.runGroup(first) }
}
