import Foundation
import Testing

@testable import Hearth

/// The programs of the article "Keeping and clearing parts of the cache".
@Suite("The article on keeping and clearing", .timeLimit(.minutes(2)))
struct KeepingAndClearingArticleTests {
  private let article: Article
  private let folder: TemporaryFolder

  init() throws {
    article = try Article("KeepingAndClearing")
    folder = try TemporaryFolder()
  }

  /// A client on a file that has read what the backend holds.
  private func run(
    _ documents: [String: [String: Any]], _ body: (Firestore) async throws -> Void
  ) async throws {
    try await TestBackend.run { host in
      let writer = try TestFirestore(host: host).firestore
      for (path, data) in documents { try await writer.document(path).setData(data) }
      try await writer.terminate()
      let cache = PersistentCacheSettings(directory: folder.url)
      let db = try TestFirestore(cache: cache, host: host).firestore
      try await body(db)
      try await db.terminate()
    }
  }

  @Test("shows code that is compiled and run here, and printed text that is checked here")
  func blocks() throws {
    #expect(try article.codeNotCompiled(in: #filePath) == [])
    #expect(try article.printedNotChecked(in: #filePath) == [])
  }

  @Test("a collection is cleared, and what waits for the backend stays")
  func clearing() async throws {
    let print = Printout()
    try await run(["chats/team/messages/m1": ["text": "a"], "chats/team/messages/m2": ["text": "b"]]) { db in
      try await db.collection("chats/team/messages").prefetch()
      try await db.disableNetwork()
      let messages = db.collection("chats/team/messages")
      messages.document("m2").updateData(["text": "not sent yet"], completion: nil)

      let cleared = try await db.clearCache(.collection(messages))
      print("removed:", cleared.removedDocumentCount, "waiting:", cleared.pendingDocumentCount)
      print("left:", try await messages.getDocuments(source: .cache).documents.map(\.documentID))
    }
    #expect(print.lines == article.printed("Clearing"))
  }

  @Test("nothing of a user is left in the files")
  func signingOut() async throws {
    let print = Printout()
    try await run(["users/anna": ["name": "Anna the first"], "users/anna/notes/n1": ["text": "a secret"]]) { db in
      try await db.document("users/anna").getDocument(source: .server)
      try await db.collection("users/anna/notes").prefetch()
      func files(with text: String) -> [String] {
        folder.contents().filter { $0.value.range(of: Data(text.utf8)) != nil }.keys.sorted()
      }
      #expect(!files(with: "a secret").isEmpty && !files(with: "Anna the first").isEmpty)
      func forget(_ user: DocumentReference) async throws -> Bool {
        guard try await db.pendingWrites().isEmpty else { return false }
        let everything = CacheScope.document(user, includingSubcollections: true)
        let cleared = try await db.clearCache(everything, securely: true)
        return cleared.isErased && cleared.pendingDocumentCount == 0 && cleared.listenedDocumentCount == 0
      }
      print("nothing of anna is left:", try await forget(db.document("users/anna")))
      #expect(files(with: "a secret") == [] && files(with: "Anna the first") == [])
    }
    #expect(print.lines == article.printed("When a user signs out"))
  }

  @Test("a query is pinned and prefetched")
  func keeping() async throws {
    let print = Printout()
    var products: [String: [String: Any]] = ["products/sold": ["inStock": false]]
    for number in 1...3 { products["products/p\(number)"] = ["inStock": true, "price": number] }
    try await run(products) { db in
      let catalogue = db.collection("products").whereField("inStock", isEqualTo: true)
      try await catalogue.pin()
      for try await progress in catalogue.prefetchProgress(within: .seconds(30), countsDocuments: true) {
        if progress.isFinished { print("received:", progress.receivedDocumentCount) }
      }

      for pinned in try await db.cacheReport().pinnedQueries {
        print(pinned.documentCount, "documents,", pinned.documentBytes, "bytes")
      }
    }
    #expect(print.lines == article.printed("Keeping a query"))
  }
}
