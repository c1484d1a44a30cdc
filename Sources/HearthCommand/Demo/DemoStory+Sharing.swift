import Foundation
import Hearth
import HearthData

/// The chapter with two living processes on one cache.
extension DemoStory {
  /// The entries that each process writes without a network.
  private static let offlineCount = 40
  /// The entries that the survivor writes in the end.
  private static let lastCount = 10

  func cacheIsShared(witness: Device, cityCount: Int) async throws {
    narrator.chapter("Two processes share one cache, and one of them is killed")
    let (first, second) = try await openTwice(cityCount: cityCount)
    try await writeOffline(first, second)
    try await killConnected(first, survivor: second)
    let last = 2 * Self.offlineCount + Self.lastCount
    if isOwnServer {
      try await verify(DemoWorkerCommand.journal, numbers: Array(1...last), witness: witness)
    } else {
      // Another backend does not know a write that it gets again.
      try await verifyEntries(DemoWorkerCommand.journal, numbers: Array(1...last), witness: witness)
    }
  }

  private func openTwice(cityCount: Int) async throws -> (first: ChildProcess, second: ChildProcess) {
    let cache = folder.appendingPathComponent("shared-device").path
    let arguments = ["demo-worker", "--backend", backend.description, "--project", project, "--cache", cache]
    let first = try ChildProcess(arguments: arguments)
    try await expect(first, "read", "cities", "process \(first.identifier) reads cities", cityCount)
    let second = try ChildProcess(arguments: arguments)
    try await expect(second, "read", "cities", "process \(second.identifier), on the same cache, too", cityCount)
    narrator.say("process \(first.identifier) came first: it is connected to the backend, for both")
    return (first, second)
  }

  private func writeOffline(_ first: ChildProcess, _ second: ChildProcess) async throws {
    // In this order: a process that has a network takes over from one that has none.
    for process in [second, first] {
      process.send("offline")
      _ = try await process.event("offline")
    }
    let (half, all) = (Self.offlineCount, 2 * Self.offlineCount)
    first.send("write 1 \(half)")
    second.send("write \(half + 1) \(all)")
    for process in [first, second] { _ = try await process.event("written") }
    narrator.say("both lose the network, and each writes \(half) entries")
    for process in [first, second] {
      process.send("show \(all)")
      let shown = try await process.event("shown")
      narrator.check(
        "entries that process \(process.identifier) shows, all waiting for the backend", expected: [all, all],
        found: [shown["entries"] as? Int ?? -1, shown["waiting"] as? Int ?? -1])
    }
  }

  private func killConnected(_ first: ChildProcess, survivor second: ChildProcess) async throws {
    let all = 2 * Self.offlineCount
    for process in [first, second] {
      process.send("online")
      _ = try await process.event("online")
    }
    second.send("drain")
    var left = all
    try await waitUntil("the common outbox to get shorter") {
      left = second.drain("drain").last?["left"] as? Int ?? left
      return left < all ? () : nil
    }
    await first.killAtOnce()
    let rest = "\(ProgressText.count(left, "batch")) \(left == 1 ? "is" : "are") left"
    narrator.say("the network is back; process \(first.identifier) is killed with SIGKILL when at most \(rest)")
    narrator.progress("outbox of both", done: all - left, total: all)
    try await waitUntil("process \(second.identifier) to send the rest") {
      for event in second.drain("drain") {
        left = event["left"] as? Int ?? left
        narrator.progress("outbox of both", done: all - left, total: all)
      }
      return second.drain("drained").isEmpty ? nil : ()
    }
    narrator.check(
      "batches still in the outbox after process \(second.identifier) sent the rest", expected: 0, found: left)

    second.send("write \(all + 1) \(all + Self.lastCount)")
    second.send("drain")
    _ = try await second.event("drained")
    narrator.say("process \(second.identifier) goes on: \(Self.lastCount) more batches are acknowledged")
    second.closeInput()
    try await waitUntil("process \(second.identifier) to end") { second.isRunning ? nil : () }
    narrator.check("it ends with status", expected: 0, found: await second.exit())
  }

  /// Sends a command of one word and compares the answer.
  private func expect(
    _ process: ChildProcess, _ command: String, _ field: String, _ what: String, _ expected: Int
  ) async throws {
    process.send(command)
    let answer = try await process.event(command)
    narrator.check(what, expected: expected, found: answer[field] as? Int ?? -1)
  }
}
