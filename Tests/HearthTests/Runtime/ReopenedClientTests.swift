import Foundation
import HearthModel
import HearthStore
import HearthSync
import TestSupport
import Testing

@testable import Hearth
@testable import HearthCache

/// Calls that a client takes over from the one whose cache was found damaged.
@Suite("Calls to a client whose cache is reopened")
struct ReopenedClientTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  @Test("a wait for pending writes ends with its user, also if the change of the user is what meets the damage")
  func waitOfFormerUser() throws {
    let configuration = try SuspensionTests.configuration(folder.url)
    let loop = DispatchQueue(label: "loop")
    try loop.sync {
      let client = try RunningClient(configuration, on: loop) { _ in }
      client.start()
      client.handle(.request(RequestID(rawValue: 1), .networkSwitch(isEnabled: false) { _ in }))
      client.handle(.changeUser("alice"))
      let write = LocalWrite(
        id: WriteID(rawValue: 1), mutations: [.set(try DocumentKey(parsing: "a/b"), [:])], localWriteTime: .epoch)
      client.handle(.writes([WriteCall(write: write)]))
      let waits = Recorder<NSError?>()
      client.handle(.request(RequestID(rawValue: 2), .engine(.waitForPendingWrites) { waits.record($0) }))
      #expect(waits.events.isEmpty)
      client.cache.localStore.database.injectFailure = {
        $0 == .transaction("Handle user change")
          ? StoreError(kind: .corrupt, message: "made to fail", sqliteCode: 11) : nil
      }
      client.handle(.changeUser("bob"))
      client.cache.localStore.database.injectFailure = nil
      let cause = try #require(client.reopening)
      #expect(waits.events.map { $0?.code } == [FirestoreErrorCode.cancelled.rawValue])

      let next = try RunningClient(configuration, on: loop, continuing: client.endForReopening(cause)) { _ in }
      next.start()
      #expect(waits.events.count == 1)
      #expect(try next.cache.localStore.pendingBatches(of: .user("alice")).count == 1)
      next.stop { _ in }
    }
  }

  @Test("a call that the damaged cache has refused is begun again in the next one")
  func refusedCall() throws {
    let configuration = try SuspensionTests.configuration(folder.url)
    let loop = DispatchQueue(label: "loop")
    try loop.sync {
      let client = try RunningClient(configuration, on: loop) { _ in }
      client.start()
      client.cache.localStore.database.injectFailure = {
        if case .statement = $0 { StoreError(kind: .corrupt, message: "made to fail", sqliteCode: 11) } else { nil }
      }
      let waits = Recorder<NSError?>()
      client.handle(.request(RequestID(rawValue: 1), .engine(.waitForPendingWrites) { waits.record($0) }))
      client.cache.localStore.database.injectFailure = nil
      let cause = try #require(client.reopening)
      #expect(waits.events.isEmpty)
      let next = try RunningClient(configuration, on: loop, continuing: client.endForReopening(cause)) { _ in }
      next.start()
      #expect(waits.events == [nil])
      next.stop { _ in }
    }
  }

  @Test("nothing is stored of a bundle whose loading the damage has ended, whatever of it comes later")
  func bundleAfterDamage() throws {
    let configuration = try SuspensionTests.configuration(folder.url)
    let loop = DispatchQueue(label: "loop")
    let bytes = [UInt8](BundleTests.bundle(in: configuration.databaseID, documents: 3))
    try loop.sync {
      let client = try RunningClient(configuration, on: loop) { _ in }
      client.start()
      let ends = Recorder<NSError?>()
      let observer = BundleObserver(progress: { _ in }, completion: { ends.record($0) })
      client.handle(.request(RequestID(rawValue: 1), .loadBundle(observer)))
      client.cache.localStore.database.injectFailure = {
        if case .statement = $0 { StoreError(kind: .corrupt, message: "made to fail", sqliteCode: 11) } else { nil }
      }
      client.handle(.request(RequestID(rawValue: 2), .engine(.waitForPendingWrites) { _ in }))
      client.cache.localStore.database.injectFailure = nil
      let cause = try #require(client.reopening)
      let next = try RunningClient(configuration, on: loop, continuing: client.endForReopening(cause)) { _ in }
      next.start()
      #expect(ends.events.map { $0?.code } == [FirestoreErrorCode.dataLoss.rawValue])
      let wantsMore = Recorder<Bool>()
      next.handle(.bundleBytes(RequestID(rawValue: 1), bytes) { wantsMore.record($0) })
      next.handle(.bundleEnded(RequestID(rawValue: 1), nil))
      #expect(wantsMore.events == [false] && ends.events.count == 1)
      #expect(try next.cache.localStore.sizes().collections.isEmpty)
      next.stop { _ in }
    }
  }

  @Test("writes go on once an unsafe file can be marked, which failed at first")
  func markedLater() throws {
    let configuration = try SuspensionTests.configuration(folder.url)
    let file = folder.url.path + "/cache.sqlite"
    let loop = DispatchQueue(label: "loop")
    try loop.sync {
      let client = try RunningClient(configuration, on: loop) { _ in }
      client.start()
      client.handle(.request(RequestID(rawValue: 1), .networkSwitch(isEnabled: false) { _ in }))
      func write(_ number: Int) throws {
        let mutation = Mutation.set(try DocumentKey(parsing: "a/\(number)"), [:])
        let write = LocalWrite(id: WriteID(rawValue: number), mutations: [mutation], localWriteTime: .epoch)
        client.handle(.writes([WriteCall(write: write)]))
      }
      try write(1)
      let reader = try Database(.file(path: file))
      try reader.execute("BEGIN")
      try reader.execute("SELECT count(*) FROM sqlite_master")
      client.cache.localStore.database.injectFailure = {
        $0 == .commit ? StoreError(kind: .io, message: "made to fail", sqliteCode: 10 | 4 << 8) : nil
      }
      try write(2)
      client.cache.localStore.database.injectFailure = nil
      let cause = try #require(client.reopening)
      try FileManager.default.createDirectory(atPath: file + ".damaged", withIntermediateDirectories: false)
      var remainder = client.endForReopening(cause)
      #expect(FolderWait.mayPass(try #require(remainder.obstacle)))
      #expect(throws: StoreError.self) { try remainder.removeObstacle() }
      try FileManager.default.removeItem(atPath: file + ".damaged")
      reader.close()
      try remainder.removeObstacle()
      let next = try RunningClient(configuration, on: loop, continuing: remainder) { _ in }
      next.start()
      #expect(FileManager.default.fileExists(atPath: file + ".corrupt"))
      #expect(try next.cache.localStore.pendingBatches().count == 2)
      next.stop { _ in }
    }
  }
}
