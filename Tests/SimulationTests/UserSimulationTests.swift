import Testing

/// Users who sign in and out at any step, while any statement fails: every batch goes out for the user who wrote it, on a stream
/// that was opened for that user and with that user's token. The simulation checks that at every send.
@Suite("Users in the simulation")
struct UserSimulationTests {
  @Test("batches of one user never go out for another, whatever fails in between", arguments: Seeds.groups(.users))
  func changes(_ group: Seeds.Group) async { await group.run() }
}
