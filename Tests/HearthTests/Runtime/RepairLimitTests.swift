import Foundation
import Synchronization
import Testing

@testable import Hearth
@testable import HearthCache

@Suite("How often a damaged cache is reopened")
struct RepairLimitTests {
  private let start = ContinuousClock.now

  @Test("damage again and again ends it")
  func often() {
    var limit = RepairLimit()
    let allowed = (0..<30).prefix { limit.allowsRepair(at: start + .seconds($0)) }
    #expect(allowed.count == 19)
  }

  @Test("damage once in a while does not, however long the process runs")
  func rarely() {
    var limit = RepairLimit()
    #expect((0..<1000).allSatisfy { limit.allowsRepair(at: start + .seconds($0 * 300)) })
  }
}

/// The loop asks the limit before each repair.
@Suite("A client whose cache is damaged again and again", .timeLimit(.minutes(1)))
struct OftenDamagedClientTests {
  @Test("ends at the twentieth damage within an hour, and not before")
  func limit() async throws {
    let start = ContinuousClock.now
    let elapsed = Mutex(Duration.zero)
    let folder = try TemporaryFolder()
    let configuration = try SuspensionTests.configuration(folder.url)
    let client = LoopClient(configuration, in: folder, now: { start + elapsed.withLock { $0 } })
    client.handle(try client.write("a/b"))
    var number = 0
    func isFoundAfterDamage(at seconds: Int) async throws -> Result<Bool, NSError>? {
      await Task.yield()
      elapsed.withLock { $0 = .seconds(seconds) }
      number += 1
      try CacheFiles(folder: folder.url.path).mark("made to fail")
      client.handle(.fromClient(number: number, .othersChanged))
      let found = LoopAnswer<Result<Bool, NSError>>()
      client.handle(try client.read("a/b", found))
      return found.value
    }
    for second in 0..<19 {
      #expect(try await isFoundAfterDamage(at: second)?.get() == true, "damage \(number)")
    }
    // The first one was an hour ago.
    #expect(try await isFoundAfterDamage(at: 3600)?.get() == true)
    let error = try await isFoundAfterDamage(at: 3600)?.failure
    #expect(error?.code == FirestoreErrorCode.dataLoss.rawValue)
  }
}
