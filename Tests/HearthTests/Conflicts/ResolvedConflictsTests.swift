import Foundation
import TestSupport
import Testing

@testable import Hearth

/// Conflicts that rules have resolved, as the public API reports them, with the embedded server.
@Suite("Resolved conflicts", .timeLimit(.minutes(2)))
struct ResolvedConflictsTests {
  private let path = "notes/a"

  /// Edits a document offline that another user else changes, and goes online.
  private func withConflict(
    _ resolver: ConflictResolver, edit: [String: Any] = ["text": "local", "n": FieldValue.increment(Int64(1))],
    theirs: [String: Any] = ["text": "remote", "n": 5, "other": true],
    cache: any LocalCacheSettings & NSObjectProtocol = MemoryCacheSettings(), name: String = UUID().uuidString,
    _ body: (_ db: Firestore, _ receipt: WriteReceipt, _ host: String) async throws -> Void
  ) async throws {
    try await TestBackend.run { host in
      let db = try TestFirestore(name: name, cache: cache, host: host, conflictRules: [.document(path, resolver)])
        .firestore
      let other = try TestFirestore(host: host).firestore
      try await other.document(path).setData(["text": "base", "n": 1])
      _ = try await db.document(path).getDocument(source: .server)
      try await db.disableNetwork()
      let receipt = db.document(path).withReceipt.updateData(edit)
      try await receipt.saved()
      try await other.document(path).setData(theirs)
      try await db.enableNetwork()
      try await body(db, receipt, host)
      try await db.terminate()
      try await other.terminate()
    }
  }

  @Test("the acknowledgement and the list have the field with its three values, and the side that was dropped")
  func merged() async throws {
    for side in [ConflictResolver.Side.local, .remote] {
      try await withConflict(.mergeFields(preferring: side)) { db, receipt, _ in
        let acknowledgement = try await receipt.acknowledged()
        let conflict = try #require(acknowledgement.conflicts.first)
        #expect(conflict.document == db.document(path) && conflict.outcome == .merged)
        #expect(conflict.receiptID == receipt.id)
        // The increment is carried over, so nothing of it is dropped.
        let field = try #require(conflict.fields.first)
        #expect(conflict.fields.count == 1 && field.name == "text")
        #expect(field.base == "base" && field.local == "local" && field.remote == "remote")
        #expect(field.kept == side && field.dropped == [side == .local ? .remote : .local])
        #expect(conflict.dropped == field.dropped)
        #expect(try await db.resolvedConflicts.conflicts() == acknowledgement.conflicts)
        let data = try #require(try await db.document(path).getDocument(source: .server).data())
        #expect(data as NSDictionary == ["text": "\(side)", "n": 6, "other": true] as NSDictionary)
      }
    }
  }

  @Test("a merge in which nothing gave way is told, with nothing dropped")
  func nothingDropped() async throws {
    try await withConflict(.mergeFields, theirs: ["text": "base", "n": 1, "other": true]) { _, receipt, _ in
      let conflicts = try await receipt.acknowledged().conflicts
      #expect(conflicts.map(\.outcome) == [.merged] && conflicts.map(\.dropped) == [[]])
    }
  }

  @Test("a write without a conflict has none, under a rule as well")
  func noConflict() async throws {
    try await TestBackend.run { host in
      let db = try TestFirestore(host: host, conflictRules: [.document(path, .mergeFields)]).firestore
      let acknowledgement = try await db.document(path).withReceipt.setData(["n": 1]).acknowledged()
      #expect(acknowledgement.conflicts.isEmpty)
      #expect(try await db.resolvedConflicts.conflicts().isEmpty)
      try await db.terminate()
    }
  }

  @Test("a write that is given up is in the list with what it would have changed")
  func givenUp() async throws {
    try await withConflict(.custom { _ in .keepRemote }) { db, receipt, _ in
      let error = await #expect(throws: (any Error).self) { try await receipt.acknowledged() }
      #expect((error as NSError?)?.code == FirestoreErrorCode.aborted.rawValue)
      let conflicts = try await db.resolvedConflicts.conflicts()
      #expect(conflicts.map(\.receiptID) == [receipt.id] && conflicts.map(\.outcome) == [.keptRemote])
      #expect(conflicts.first?.fields.map(\.name) == ["n", "text"])
      #expect(conflicts.first?.fields.map(\.local) == [2, "local"] && conflicts.first?.dropped == [.local])
    }
  }

  @Test("a copy and a text of the resolver's own are told as what they are")
  func otherOutcomes() async throws {
    try await withConflict(.keepBoth) { db, receipt, _ in
      let conflict = try #require(try await receipt.acknowledged().conflicts.first)
      guard case .keptBoth(let copy) = conflict.outcome else {
        Issue.record("\(conflict.outcome)")
        return
      }
      #expect(conflict.dropped.isEmpty && copy.parent == db.collection("notes"))
      #expect(try await copy.getDocument(source: .server)["text"] as? String == "local")
    }
    let resolver = ConflictResolver.custom { conflict in
      var fields = conflict.remote.fieldMap() ?? [:]
      fields["text"] = "both"
      return .merged(fields)
    }
    try await withConflict(resolver, edit: ["text": "local"]) { db, receipt, _ in
      let conflict = try #require(try await receipt.acknowledged().conflicts.first)
      #expect(conflict.outcome == .merged && conflict.fields.map(\.kept) == [nil])
      #expect(conflict.dropped == [.local, .remote])
      let data = try #require(try await db.document(path).getDocument(source: .server).data())
      #expect(data as NSDictionary == ["text": "both", "n": 5, "other": true] as NSDictionary)
    }
  }

  @Test("a deletion that gave way to an edit is told")
  func deletion() async throws {
    try await TestBackend.run { host in
      let db = try TestFirestore(host: host, conflictRules: [.document(path, .mergeFields)]).firestore
      let other = try TestFirestore(host: host).firestore
      try await other.document(path).setData(["n": 1])
      _ = try await db.document(path).getDocument(source: .server)
      try await db.disableNetwork()
      let receipt = db.document(path).withReceipt.delete()
      try await other.document(path).setData(["n": 2])
      try await db.enableNetwork()
      _ = await #expect(throws: (any Error).self) { try await receipt.acknowledged() }
      let conflict = try #require(try await db.resolvedConflicts.conflicts().first)
      #expect(conflict.isDeletedLocally && !conflict.isDeletedRemotely && conflict.outcome == .keptRemote)
      #expect(conflict.fields.isEmpty && conflict.dropped == [.local])
      try await db.terminate()
      try await other.terminate()
    }
  }

  @Test("snapshots have a conflict when it is resolved, and lack it when it is discarded")
  func snapshots() async throws {
    try await withConflict(.mergeFields) { db, _, _ in
      var counts: [Int] = []
      for try await conflicts in db.resolvedConflicts.snapshots {
        counts.append(conflicts.count)
        if let conflict = conflicts.first {
          try await db.resolvedConflicts.discard(conflict.id)
        } else if counts.contains(1) {
          break
        }
      }
      #expect(counts.filter { $0 == 1 }.count == 1)
      try await db.resolvedConflicts.discardAll()
    }
  }

  @Test("the list and the outcome are there after a restart of the program")
  func restart() async throws {
    let folder = try TemporaryFolder()
    let (cache, name) = (PersistentCacheSettings(directory: folder.url), UUID().uuidString)
    try await withConflict(.mergeFields, cache: cache, name: name) { db, receipt, host in
      let before = try await receipt.acknowledged().conflicts
      try await db.terminate()
      let again = try TestFirestore(name: name, cache: cache, host: host).firestore
      #expect(try await again.resolvedConflicts.conflicts().map(\.fields) == before.map(\.fields))
      let found = try await #require(try await again.receipt(for: receipt.id)).acknowledged()
      #expect(found.conflicts.map(\.id) == before.map(\.id) && !before.isEmpty)
      try await again.resolvedConflicts.discardAll()
      #expect(try await again.resolvedConflicts.conflicts().isEmpty)
      try await again.terminate()
    }
  }

  @Test("another process that made the write hears of what the one with the connection has resolved")
  func otherProcess() async throws {
    try await TestBackend.run { host in
      let shared = try SharedCache()
      func client() throws -> Firestore {
        try TestFirestore(
          name: shared.name(), cache: PersistentCacheSettings(directory: shared.directory), host: host,
          conflictRules: [.document(path, .mergeFields)]
        ).firestore
      }
      let other = try TestFirestore(host: host).firestore
      try await other.document(path).setData(["text": "base"])
      let first = try client()
      _ = try await first.document(path).getDocument(source: .server)
      let second = try client()
      _ = try await second.document(path).getDocument(source: .cache)
      // The first one has the connection; without it nothing is sent.
      try await first.disableNetwork()
      try await second.disableNetwork()
      let receipt = second.document(path).withReceipt.updateData(["text": "local"])
      try await receipt.saved()
      try await other.document(path).updateData(["text": "remote"])
      try await first.enableNetwork()
      let conflict = try #require(try await receipt.acknowledged().conflicts.first)
      #expect(conflict.fields.map(\.remote) == ["remote"] && conflict.dropped == [.remote])
      for try await conflicts in second.resolvedConflicts.snapshots where !conflicts.isEmpty {
        #expect(conflicts == [conflict])
        break
      }
      try await second.terminate()
      try await first.terminate()
      try await other.terminate()
    }
  }
}
