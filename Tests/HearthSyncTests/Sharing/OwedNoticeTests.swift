import HearthCache
import HearthModel
import HearthStore
import Testing

@testable import HearthSync

@Suite("What a client has to tell the others while another process holds the file")
struct OwedNoticeTests {
  private static let noRoute = StatusError(code: .unavailable, message: "no route")

  private let cache: SharedCache
  private let holder: SharedTestClient
  private let other: SharedTestClient
  private let stopped: Database

  init() throws {
    cache = try SharedCache()
    holder = try cache.client("a", busyTimeout: .milliseconds(20))
    other = try cache.client("b", busyTimeout: .milliseconds(20))
    stopped = try Database(.file(path: cache.file))
  }

  private func lock() throws { try stopped.execute("BEGIN IMMEDIATE") }

  private func unlock() throws {
    try stopped.execute("ROLLBACK")
    cache.wait(1)
  }

  @Test("a call to try again ends the pauses of the client with the connection when the file is free")
  func retryAsked() throws {
    holder.connectionError = Self.noRoute
    holder.write(.set(key("rooms/1"), ["n": .integer(1)]))
    cache.wait(40)
    try lock()
    let call = other.request(.retryNow)
    #expect(other.answers[call] == .done)
    holder.connectionError = nil
    #expect(holder.sentBatches.isEmpty)
    try unlock()
    #expect(holder.sentBatches.count == 1)
  }

  @Test("one that cannot be passed on for another reason fails")
  func retryFails() {
    other.failing = ["Ask for retry"]
    let call = other.request(.retryNow)
    #expect(other.failedRequests[call]?.message.contains("cannot be asked to try again") == true)
  }

  @Test("a client whose network has changed has its turn like all others when the file is free")
  func turnsForgotten() throws {
    holder.connectionError = Self.noRoute
    holder.write(.set(key("rooms/1"), ["n": .integer(1)]))
    cache.wait(70)
    #expect(other.engine.isPrimary && holder.store.futileTurnCount == 1)
    try lock()
    holder.connectionError = nil
    holder.post(.connectivityChanged)
    #expect(holder.store.futileTurnCount == 1)
    try unlock()
    #expect(holder.store.futileTurnCount == 0)
  }
}
