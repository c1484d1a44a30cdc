import Testing

@testable import Hearth

/// The programs of the article "Totals that stay right".
@Suite("The article on live aggregates", .timeLimit(.minutes(2)))
struct LiveAggregatesArticleTests {
  let article: Article

  init() throws { article = try Article("LiveAggregates") }

  @Test("shows code that is compiled and run here, and printed text that is checked here")
  func blocks() throws {
    #expect(try article.codeNotCompiled(in: #filePath) == [])
    #expect(try article.printedNotChecked(in: #filePath) == [])
  }

  @Test("values follow the documents offline")
  func listening() async throws {
    let print = Printout()
    try await ArticleCities.runOffline { db, _ in
      let query = db.collection("cities").aggregate([.count(), .sum("population")])
      for try await totals in query.snapshots {
        print(totals.count, totals.get(.sum("population")), "pending writes:", totals.metadata.hasPendingWrites)
        if totals.count == 3 { break }
        db.document("cities/SD").setData(["name": "San Diego", "population": 1_400_000], completion: nil)
      }
    }
    #expect(print.lines == article.printed("Listening to values"))
  }

  @Test("the default source answers with and without a network")
  func defaultSource() async throws {
    let print = Printout()
    try await ArticleCities.runOffline { db, _ in
      let cities = db.collection("cities").aggregate([.count(), .average("population")])
      db.document("cities/SD").setData(["name": "San Diego", "population": 1_400_000], completion: nil)
      let offline = try await cities.getAggregation(source: .default)
      print(offline.count, offline.metadata.isFromCache, offline.completeness.isComplete)

      try await db.enableNetwork()
      try await db.waitForPendingWrites()
      let online = try await cities.getAggregation(source: .default)
      print(online.count, online.metadata.isFromCache, online.get(.average("population")))
    }
    #expect(print.lines == article.printed("One value, with or without a network"))
  }
}
