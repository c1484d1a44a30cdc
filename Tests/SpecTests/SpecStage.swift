import EngineHarness
import Foundation
import HearthCache
import HearthModel
import HearthStore
import HearthSync

/// The stage that the clients of one test share: the folder of the cache, the locks of the operating system, and the user's writes.
final class SpecStage {
  let test: SpecCase
  let folder: String
  /// Every user's writes that no step has answered, in order. They outlive the clients.
  var unansweredWrites: [String?: [Mutation]] = [:]
  private var clients: [Int: SpecRunner] = [:]
  private let cacheLocks = CacheLocks()

  init(_ test: SpecCase) throws {
    self.test = test
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("hearth-spec-\(UUID().uuidString)").path
    guard test.mode != .memoryEager, test.mode != .memoryLeastRecentlyUsed else { return }
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  var file: String { folder + "/cache.sqlite" }

  static func run(_ test: SpecCase) throws {
    let stage = try SpecStage(test)
    defer { stage.remove() }
    for (index, step) in test.steps.enumerated() {
      do {
        let client = try stage.client(Int(step["clientIndex"]?.integer() ?? 0))
        try client.run(step)
      } catch {
        throw SpecFailure("step \(index) \(SpecRunner.action(of: step)): \(error)")
      }
    }
    // Clients without a further step may have events that no step looks at.
    if let last = test.steps.last { try stage.client(Int(last["clientIndex"]?.integer() ?? 0)).checkEnd() }
    for client in stage.sortedClients where !client.isShutdown { client.shutDown() }
  }

  private var sortedClients: [SpecRunner] { clients.sorted { $0.key < $1.key }.map(\.value) }

  /// The client of that number, started when it is first named.
  private func client(_ number: Int) throws -> SpecRunner {
    if let known = clients[number] { return known }
    let new = try SpecRunner(self, name: "client\(number)")
    clients[number] = new
    new.post(.start)
    return new
  }

  private func remove() {
    for client in clients.values { client.close() }
    try? FileManager.default.removeItem(atPath: folder)
  }

  // MARK: - Between the clients

  /// Lets the other clients hear at once that there is news.
  func wakeOthers(than client: SpecRunner) {
    for other in sortedClients where other !== client { other.post(.othersChanged) }
  }

  /// Deletes the cache although clients have it open: they are told to end.
  func clearPersistence() throws {
    let database = try Database(.file(path: file))
    defer { database.close() }
    try LocalStore.askAllToEnd(database)
    for client in sortedClients { client.post(.othersChanged) }
  }

  /// Takes the lease from its holder, which hears nothing of it.
  func eraseLease() throws {
    cacheLocks.loseLease()
    let database = try Database(.file(path: file))
    defer { database.close() }
    try database.execute("UPDATE cache_sharing SET lease_holder = 0")
  }

  /// The locks of a client that starts; nil where a test has one client only.
  func locks(_ name: String) -> (any ClientLocks)? {
    test.mode == .shared ? cacheLocks.begin(name) : nil
  }

  func hasEnded(_ name: String) { cacheLocks.end(name) }
}
