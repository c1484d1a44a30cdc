import Foundation
import Testing

@testable import Hearth

/// The program of the article "Watching the state".
@Suite("The article on the state of a client", .timeLimit(.minutes(1)))
struct StateArticleTests {
  @Test("shows code that is compiled and run here, and printed text that is checked here")
  func blocks() throws {
    let article = try Article("WatchingTheState")
    #expect(try article.codeNotCompiled(in: #filePath) == [])
    #expect(try article.printedNotChecked(in: #filePath) == [])
  }

  @Test("a program follows the state from offline to in sync")
  func program() async throws {
    let print = Printout()
    try await ArticleCities.run { db, _, _ in
      try await db.disableNetwork()
      db.document("readings/1").setData(["celsius": 21.5], completion: nil)
      for try await status in db.statuses {
        switch status.connection {
        case .offline(.networkDisabled, _): print("switched off,", status.pendingWriteCount, "waiting")
        case .offline(_, let nextAttempt?): print("offline until", nextAttempt.formatted())
        case .offline: print("offline, trying")
        case .connecting: continue
        case .inSync: print("in sync,", status.pendingWriteCount, "waiting")
        }
        if status.connection == .inSync { break }
        if status.pendingWriteCount == 1 { try await db.enableNetwork() }
      }
      let status = try await db.status()
      print("was in sync:", status.lastInSync != nil, "work:", status.work.count)
    }
    #expect(print.lines == (try Article("WatchingTheState").printed("One value for an interface")))
  }
}
