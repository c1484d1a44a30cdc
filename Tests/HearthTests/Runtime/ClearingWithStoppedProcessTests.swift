import Foundation
import HearthStore
import Synchronization
import TestSupport
import Testing

@testable import Hearth
@testable import HearthCache

/// A cache is cleared or taken over when all its processes can leave it, and otherwise nobody loses it.
@Suite("Clearing and taking over alongside a stopped process", .timeLimit(.minutes(2)))
struct ClearingWithStoppedProcessTests {
  private let cache: SharedCache

  init() throws {
    cache = try SharedCache()
  }

  private func client(_ settings: PersistentCacheSettings? = nil) async throws -> Firestore {
    let settings = settings ?? PersistentCacheSettings(directory: cache.directory)
    return try await TestFirestore.offline(name: try cache.name(), cache: settings)
  }

  /// Has the folder as a process has it that was stopped, and hears nothing.
  private func stoppedProcess(beside firestore: Firestore) throws -> FolderLock {
    try FolderLock(folder: try #require(firestore.cacheFolder), mode: .shared)
  }

  private func expectUsable(_ firestore: Firestore, writes count: Int) async throws {
    firestore.document("a/\(UUID().uuidString)").setData(["n": 1], completion: nil)
    #expect(try await firestore.pendingWrites().count == count)
  }

  @Test("clearing that fails ends nobody: the processes that gave the cache back use it again, with their listeners")
  func clearingFails() async throws {
    let (first, second, clearing) = (try await client(), try await client(), try await client())
    try await expectUsable(first, writes: 1)
    let (events, _) = second.collection("a").record()
    #expect(try await events.next().get().count == 1)
    try await clearing.terminate()
    let stopped = try stoppedProcess(beside: first)

    let error = await thrown { try await clearing.clearPersistence() }
    #expect(error?.code == FirestoreErrorCode.failedPrecondition.rawValue)
    try await expectUsable(first, writes: 2)
    #expect(try await events.next { (try? $0.get().count) == 2 }.get().count == 2)
    // A process that reads the request only now does not heed it.
    let late = try await client()
    try await expectUsable(late, writes: 3)

    stopped.release()
    try await clearing.clearPersistence()
    for firestore in [first, second, late] {
      let error = await thrown { _ = try await firestore.pendingWrites() }
      #expect(error?.code == FirestoreErrorCode.failedPrecondition.rawValue)
      #expect(error?.localizedDescription.contains("cleared the cache or taken it over") == true)
      try await firestore.terminate()
    }
    _ = try await events.next { if case .failure = $0 { true } else { false } }
  }

  @Test("taking over that fails ends nobody")
  func takingOverFails() async throws {
    let first = try await client()
    try await expectUsable(first, writes: 1)
    let stopped = try stoppedProcess(beside: first)
    let taking = PersistentCacheSettings(directory: cache.directory, processes: .singleForcingOwnership)
    let second = try TestFirestore(name: try cache.name(), cache: taking).firestore
    let error = await thrown { try await second.document("a/b").setData([:]) }
    #expect(error?.code == FirestoreErrorCode.failedPrecondition.rawValue)
    try await second.terminate()
    try await expectUsable(first, writes: 2)
    stopped.release()
    try await first.terminate()
  }

  @Test("a request to end that nobody makes any more ends nobody")
  func staleRequest() async throws {
    let first = try await client()
    try await expectUsable(first, writes: 1)
    let request = EndRequest()
    request.ask(clientsOf: try #require(first.cacheFolder))
    request.withdraw()
    try await expectUsable(first, writes: 2)
    try await first.terminate()
  }

  @Test("asking makes no file where there is none")
  func noFile() throws {
    let path = cache.directory.appendingPathComponent("none.sqlite").path
    var options = Database.Options()
    options.mustExist = true
    #expect(throws: StoreError.self) { try Database(.file(path: path), options: options) }
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test("the time in which the others may leave begins when clearing does, however long it had to wait for its turn")
  func turn() async throws {
    let (first, clearing) = (try await client(), try await client())
    try await expectUsable(first, writes: 1)
    let folder = try #require(clearing.cacheFolder)
    try await clearing.terminate()
    let (isBusy, end) = (DispatchSemaphore(value: 0), Outcome<Void>())
    LoopQueue.queue(forFolder: folder).queue.async { isBusy.wait() }
    CacheClearing(folder: folder, limit: .seconds(1)) { end.resolve($0) }.begin()
    DispatchQueue.global().asyncAfter(deadline: .now() + 1.2) { isBusy.signal() }
    try await end.value()
    try await first.terminate()
  }
}
