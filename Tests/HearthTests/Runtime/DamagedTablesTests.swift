import Foundation
import TestSupport
import Testing

@testable import Hearth

/// A client whose first call meets the damage that its file has taken while the process was down.
@Suite("The first call to a client whose file is damaged", .timeLimit(.minutes(3)))
struct DamagedTablesTests {
  enum FirstCall: String, CaseIterable, CustomStringConvertible {
    case writeWithoutCompletion, writeAndWait, others

    var description: String { rawValue }
  }

  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func file(of name: String) -> URL {
    folder.url.appendingPathComponent("\(name)/demo-hearth/(default)/cache.sqlite")
  }

  private func client(_ name: String, _ host: String) throws -> Firestore {
    try TestFirestore(name: name, cache: PersistentCacheSettings(directory: folder.url), host: host).firestore
  }

  /// Makes a file with something in the tables that writes and their answers use.
  private func makeTemplate(_ name: String, _ host: String) async throws -> (
    bytes: Data, pages: [(name: String, page: Int)]
  ) {
    let db = try client(name, host)
    try await db.setIndexConfiguration(
      #"{"indexes":[{"collectionGroup":"rounds","fields":[{"fieldPath":"n","order":"ASCENDING"}]}]}"#)
    try await db.document("known/1").setData(["n": 1])
    #expect(try await db.collection("known").getDocuments(source: .server).count == 1)
    try await db.collection("known").pin()
    try await db.disableNetwork()
    db.document("known/2").setData(["n": 2], completion: nil)
    #expect(try await db.pendingWrites().count == 1)
    try await db.terminate()
    let file = file(of: name)
    return (try Data(contentsOf: file), try TablePages.all(in: file.path))
  }

  @Test(
    "is carried out, whichever table is damaged: a write reaches the backend exactly once",
    arguments: FirstCall.allCases)
  func everyTable(call: FirstCall) async throws {
    try await TestBackend.run { host in
      let template = try await makeTemplate("\(call)", host)
      #expect(template.pages.count > 40)
      for (table, page) in template.pages {
        // Apps of one name are one, also in another test.
        let name = "\(call)-\(table)"
        try makeDamagedFile(of: name, template.bytes, page: page)
        let db = try client(name, host)
        let error = await thrown { try await make(call, as: table, db) }
        #expect(error == nil, "\(table): \(String(describing: error))")
        try await db.terminate()
      }
      guard call != .others else { return }
      let witness = try TestFirestore(host: host).firestore
      let rounds = try await witness.collection("rounds").getDocuments(source: .server)
      #expect(rounds.ids == template.pages.map(\.name).sorted())
      for round in rounds.documents { #expect(round["n"] as? Int == 1, "\(round.documentID)") }
      try await witness.terminate()
    }
  }

  /// Puts a copy of the cache, one page of it overwritten, into the place of an app's.
  private func makeDamagedFile(of app: String, _ template: Data, page: Int) throws {
    let file = file(of: app)
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    var bytes = template
    PageDamage.overwritten.apply(to: &bytes, page: page - 1)
    try bytes.write(to: file)
  }

  /// The tables that the call reads.
  private static let tablesOfCancelling: Set<String> = [
    "cache_batch_documents", "cache_overlays", "cache_overlays_by_path", "cache_document_uses",
  ]

  @Test("takes back the write that it names, in the recovered file")
  func cancelling() async throws {
    try await TestBackend.run { host in
      let template = try await makeTemplate("cancelling", host)
      let tables = template.pages.filter { Self.tablesOfCancelling.contains($0.name) }
      #expect(tables.count == Self.tablesOfCancelling.count)
      for (table, page) in tables {
        let name = "cancelling-\(table)"
        try makeDamagedFile(of: name, template.bytes, page: page)
        // Nobody answers there.
        let db = try client(name, "127.0.0.1:1")
        // The first write was answered.
        let error = await thrown { try await db.outbox.cancel(2, evenIfSent: true) }
        #expect(error == nil, "\(table): \(String(describing: error))")
        #expect(try await db.pendingWrites().isEmpty, "\(table)")
        #expect(FileManager.default.fileExists(atPath: file(of: name).path + ".corrupt"), "\(table)")
        try await db.terminate()
      }
    }
  }

  private func make(_ call: FirstCall, as table: String, _ db: Firestore) async throws {
    let data: [String: Any] = ["n": FieldValue.increment(Int64(1))]
    switch call {
    case .writeWithoutCompletion:
      db.document("rounds/\(table)").setData(data, merge: true, completion: nil)
      try await db.waitForPendingWrites()
    case .writeAndWait:
      try await db.document("rounds/\(table)").setData(data, merge: true)
    case .others:
      try await db.disableNetwork()
      _ = try await db.pendingWrites()
      _ = try await db.rejectedWrites.writes()
      try await db.collection("other").pin()
      try await db.collection("other").unpin()
      try await db.setIndexConfiguration(#"{"indexes":[]}"#)
      _ = try await db.clearCache(.everything)
    }
  }
}
