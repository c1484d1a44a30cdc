import Dispatch
import Foundation
import HearthModel
import HearthStore
import HearthWire
import Synchronization
import TestSupport
import Testing

@testable import HearthServer

@Suite("Versions that listeners get although nothing was committed", .timeLimit(.minutes(1)))
struct AnnouncedVersionTests {
  @Test("the first listener of a start gets a snapshot of the present, and a clock that was set back none before it")
  func present() async throws {
    try await DatabaseSite.run { site in
      try await site.set("c/a")
      await site.stop()
      let copy = try site.copy()
      let lost = try await site.set("c/a", 2)
      try await site.restore(copy)
      site.clock.advance(seconds: 1)
      let now = site.now
      #expect(now > lost)
      #expect(try await site.readTime() == now)
      // Only the first: what was given out holds until something changes.
      site.clock.advance(seconds: 1)
      #expect(try await site.readTime() == now)
      let token = try await site.token()
      await site.stop()
      site.clock.advance(seconds: -3_600)
      #expect(try await site.readTime() == now)
      #expect(try await site.resume(token) == DatabaseSite.nothing)
      let later = try await site.set("c/b")
      #expect(later > now)
      #expect(try await site.resume(token) == ["add 2", "c/b in 2", "current 2", "snapshot"])
    }
  }

  @Test("all listeners that come together get a snapshot of the present")
  func together() async throws {
    try await DatabaseSite.run { site in
      try await site.set("c/a")
      await site.stop()
      site.clock.advance(seconds: 1)
      let now = site.now
      let hasEntered = Mutex(false)
      let release = DispatchSemaphore(value: 0)
      let fixture = try site.start("announce version") {
        hasEntered.withLock { $0 = true }
        release.wait()
        return nil
      }
      let begun = WakeCounter()
      func listen() -> Task<SnapshotVersion?, any Error> {
        Task {
          var listener = Listener(fixture)
          begun.count()
          _ = try await listener.add(DatabaseSite.query)
          return listener.readTimes.last
        }
      }
      let first = listen()
      try await waitUntil { hasEntered.withLock { $0 } }
      let others = (0..<4).map { _ in listen() }
      try await waitUntil { begun.value == 5 }
      release.signal()
      for listener in [first] + others { #expect(try await listener.value == now) }
    }
  }

  @Test(
    "a client that comes back from a copy that goes on elsewhere gets a later snapshot than the copy's, once a second at most"
  )
  func otherCopy() async throws {
    try await DatabaseSite.run { site in
      try await site.set("c/a")
      let other = try DatabaseSite(site.folder + ".copy", clock: site.clock)
      try await other.restore(try site.copy())
      _ = try await site.token()
      site.clock.advance(seconds: 10)
      let token = try await other.token()
      site.clock.advance(seconds: 10)
      let now = site.now
      #expect(try await site.readTime(token) == now)
      let future = ResumeToken(epoch: [1], version: SnapshotVersion(microseconds: site.clock.now + 60_000_000)).bytes
      site.clock.advance(milliseconds: 500)
      let early = DatabaseSite.foreignToken(site.now)
      for token in [future, early] { #expect(try await site.readTime(token) == now) }
      site.clock.advance(milliseconds: 600)
      #expect(try await site.readTime(early) == site.now)
      await other.stop()
    }
  }

  @Test("a version that was reserved for a read does not keep a listener from a later one than it has seen")
  func reservedInBetween() async throws {
    try await DatabaseSite.run { site in
      try await site.set("c/a")
      _ = try await site.restart()
      _ = try await site.token()
      site.clock.advance(seconds: 10)
      let seen = site.now
      site.clock.advance(seconds: 10)
      _ = try await site.start().storage.snapshot(at: Timestamp(microseconds: site.clock.now))
      site.clock.advance(seconds: 10)
      var listener = Listener(try site.start())
      _ = try await listener.add(DatabaseSite.query, token: DatabaseSite.foreignToken(seen))
      #expect(listener.readTimes.last == site.now)
    }
  }

  @Test("a client that has seen later than a clock that is behind gets a snapshot with the next token after that")
  func clockBehind() async throws {
    try await DatabaseSite.run { site in
      try await site.set("c/a")
      _ = try await site.restart()
      site.clock.advance(seconds: 10)
      let seen = SnapshotVersion(microseconds: site.clock.now + 2_000_000)
      var listener = Listener(try site.start())
      _ = try await listener.add(DatabaseSite.query, token: DatabaseSite.foreignToken(seen))
      #expect(listener.readTimes.last.map { $0 < seen } == true)
      site.clock.advance(seconds: 30)
      _ = try await listener.refresh()
      #expect(listener.readTimes.last.map { $0 > seen } == true)
    }
  }

  @Test("a version that is announced between commits costs no listener anything at the next start")
  func announcedLater() async throws {
    try await DatabaseSite.run { site in
      try await site.set("c/a")
      site.clock.advance(seconds: 10)
      let seen = DatabaseSite.foreignToken(site.now)
      site.clock.advance(seconds: 10)
      _ = try await site.resume(seen)
      let token = try await site.token()
      #expect(ResumeToken(bytes: token)?.snapshot == site.now)
      _ = try await site.restart()
      #expect(try await site.resume(token) == DatabaseSite.nothing)
      try await site.set("c/b")
      #expect(try await site.resume(token) == ["add 2", "c/b in 2", "current 2", "snapshot"])
    }
  }

  @Test("a failed sync of such a version stops commits, and what clients make up leads to one attempt a second")
  func failedAnnouncement() async throws {
    try await DatabaseSite.run { site in
      try await site.set("c/a")
      await site.stop()
      site.clock.advance(seconds: 10)
      let attempts = Mutex(0)
      let failure = Mutex(StoreError(kind: .full, message: "database or disk is full", sqliteCode: 13))
      let fixture = try site.start("announce version") {
        attempts.withLock { $0 += 1 }
        return failure.withLock { $0 }
      }
      func listen() async throws {
        var listener = Listener(fixture)
        _ = try await listener.add(DatabaseSite.query, token: DatabaseSite.foreignToken(site.now))
      }
      for _ in 0..<20 { try await listen() }
      #expect(attempts.withLock { $0 } <= 2)
      try await fixture.set("c/b")
      failure.withLock { $0 = StoreError(kind: .io, message: "disk I/O error", sqliteCode: 1034) }
      site.clock.advance(seconds: 10)
      try await listen()
      let error = await #expect(throws: StatusError.self) { try await fixture.set("c/c") }
      #expect(error?.code == .unavailable)
    }
  }

  @Test("a quiet database that is opened again and again stores no epochs, and its first token stays good")
  func quiet() async throws {
    try await DatabaseSite.run { site in
      let version = try await site.set("c/a")
      let token = try await site.restart().storage.epochs.token(at: version).bytes
      let rows = try await site.start().storage.epochRows
      for _ in 0..<40 {
        site.clock.advance(seconds: 400)
        #expect(try await site.resume(token) == DatabaseSite.nothing)
        _ = try await site.restart()
      }
      #expect(try await site.start().storage.epochRows == rows)
      try await site.set("c/b")
      #expect(try await site.resume(token) == ["add 2", "c/b in 2", "current 2", "snapshot"])
    }
  }

  @Test("listeners get their results where the version for them cannot be stored")
  func fullDisk() async throws {
    try await DatabaseSite.run { site in
      let version = try await site.set("c/a")
      await site.stop()
      site.clock.advance(seconds: 1)
      let fixture = try site.start("announce version") {
        return StoreError(kind: .full, message: "database or disk is full", sqliteCode: 13)
      }
      var listener = Listener(fixture)
      #expect(try await listener.add(DatabaseSite.query) == ["add 2", "c/a in 2", "current 2", "snapshot"])
      #expect(listener.readTimes.last == version)
      // The first commit begins it.
      let later = try await fixture.set("c/b")
      #expect(fixture.storage.epochs.all.map(\.after).last == version)
      #expect(fixture.storage.epochs.all.map(\.first).last == later)
    }
  }
}
