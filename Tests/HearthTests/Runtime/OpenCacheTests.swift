import Foundation
import HearthCache
import HearthModel
import HearthStore
import HearthSync
import Testing

@testable import Hearth

/// The treatment of a cache's file that cannot be used as it is.
@Suite("A cache before it is reopened")
struct OpenCacheTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func open() throws -> OpenCache {
    try OpenCache(try SuspensionTests.configuration(folder.url), userID: nil)
  }

  private var file: String { folder.url.appendingPathComponent("cache.sqlite").path }

  private func write(_ path: String, _ cache: OpenCache) throws {
    _ = try cache.localStore.write([.set(try DocumentKey(parsing: path), [:])], localWriteTime: .epoch)
  }

  private func logBytes() throws -> Int {
    try FileManager.default.attributesOfItem(atPath: file + "-wal")[.size] as? Int ?? 0
  }

  @Test("has its log moved into the file, after a sync that has failed")
  func failedSync() throws {
    let cache = try open()
    try write("a/b", cache)
    #expect(try logBytes() > 0)
    try cache.prepareReopening(.syncFailed("injected"))
    #expect(try logBytes() == 0)
    #expect(cache.markedDamage == nil)
    cache.close()
  }

  @Test("has its log moved although a reading in the background has begun, which ends")
  func backgroundReading() throws {
    var configuration = try SuspensionTests.configuration(folder.url)
    let held = DispatchQueue(label: "held", attributes: .initiallyInactive)
    configuration.backgroundQueue = held
    defer { held.activate() }
    let loop = DispatchQueue(label: "loop")
    try loop.sync {
      let client = try RunningClient(configuration, on: loop) { _ in }
      let reading = Recorder<Bool>()
      client.handle(.request(RequestID(rawValue: 1), .measureCache { reading.record($0.failure != nil) }))
      try write("a/b", client.cache)
      let remainder = client.endForReopening(.syncFailed("injected"))
      #expect(remainder.obstacle == nil && client.cache.markedDamage == nil)
      #expect(reading.events == [true])
    }
    let next = try open()
    #expect(!FileManager.default.fileExists(atPath: file + ".corrupt"))
    #expect(try next.localStore.pendingBatches().count == 1)
    next.close()
  }

  @Test("leaves its outbox to another file, if the log cannot be moved after a sync that has failed", .heavyWork)
  func logInUse() throws {
    let cache = try open()
    try write("a/b", cache)
    let reader = try Database(.file(path: file))
    try reader.execute("BEGIN")
    try reader.execute("SELECT count(*) FROM sqlite_master")
    try write("a/c", cache)
    try cache.prepareReopening(.syncFailed("injected"))
    #expect(cache.markedDamage == "injected")
    reader.close()
    cache.close()
    let next = try open()
    #expect(FileManager.default.fileExists(atPath: file + ".corrupt"))
    #expect(try next.localStore.pendingBatches().count == 2)
    next.close()
  }

  @Test("has what a recovery has saved and lost in the log of the client")
  func recoveryInLog() throws {
    CapturedLog.begin()
    let cache = try open()
    try write("a/b", cache)
    try "a page".write(toFile: file + ".damaged", atomically: false, encoding: .utf8)
    cache.close()
    let next = try open()
    defer { next.close() }
    #expect(CapturedLog.contains("(a page) and set aside as \"\(file).corrupt\". Pending writes saved: 1"))
  }
}
