import Foundation
import Hearth
import InteropSupport
import Synchronization
import Testing

/// The edge cases of transactions, aggregations, bundles and network switches.
extension ClientContract {
  // MARK: - Transactions

  func transactionEdges(_ port: Int, _ project: String) async throws {
    let client = try InteropClient(port: port, project: project)
    let other = try InteropClient(port: port, project: project)
    let there = client.document("rooms/there")
    let missing = client.document("rooms/missing")
    try await there.setData(["old": 1])
    _ = try await client.firestore.runTransaction { transaction, errorPointer in
      do {
        _ = try transaction.getDocument(there)
        _ = try transaction.getDocument(missing)
      } catch {
        errorPointer?.pointee = error as NSError
        return nil
      }
      transaction.deleteDocument(there).setData(["new": 2], forDocument: there)
        .updateData(["more": FieldValue.increment(Int64(3)), "at": FieldValue.serverTimestamp()], forDocument: there)
      transaction.setData(["a": 1], forDocument: missing).updateData(["b.c": 2], forDocument: missing)
        .setData(["d": FieldValue.arrayUnion([1])], forDocument: missing, merge: true)
      return nil
    }
    let written = try await other.document("rooms/there").getDocument(source: .server)
    #expect(Set(written.data()?.keys ?? [:].keys) == ["new", "more", "at"])
    #expect(written.get("more") as? Int == 3)
    let created = try await other.document("rooms/missing").getDocument(source: .server)
    #expect(created.get("a") as? Int == 1 && created.get("b.c") as? Int == 2 && created.get("d") as? [Int] == [1])

    // A document that was read as missing, and is not written, must still be missing at the commit.
    let attempts = Mutex(0)
    let existed = try await client.firestore.runTransaction { transaction, errorPointer in
      do {
        let exists = try transaction.getDocument(client.document("names/a")).exists
        let attempt = attempts.withLock { count in
          count += 1
          return count
        }
        if attempt == 1 {
          let changed = DispatchSemaphore(value: 0)
          other.document("names/a").setData([:]) { _ in changed.signal() }
          changed.wait()
        }
        transaction.setData(["taken": exists], forDocument: client.document("names/result"))
        return exists
      } catch {
        errorPointer?.pointee = error as NSError
        return nil
      }
    }
    #expect(existed as? Bool == true)
    #expect(attempts.withLock { $0 } == 2)
    let result = try await other.document("names/result").getDocument(source: .server)
    #expect(result.get("taken") as? Bool == true)
    for client in [client, other] { try await client.firestore.terminate() }
  }

  // MARK: - Aggregations

  func aggregationEdges(_ port: Int, _ project: String) async throws {
    let client = try InteropClient(port: port, project: project)
    let rows = client.collection("rows")
    let odd = ["a b", "a.b", "`", "\\", "é", "1a", "__x"].map { Hearth.FieldPath([$0]) }
    let values: [(id: String, n: Any, group: String)] = [
      ("a", Int64.max, "large"), ("b", 1, "large"), ("c", -2, "small"), ("d", 0.5, "small"), ("e", -0.0, "small"),
      ("f", Double.nan, "nan"), ("g", 3, "nan"), ("h", Double.infinity, "infinite"), ("i", "text", "none"),
      ("j", NSNull(), "none"), ("k", Double.greatestFiniteMagnitude, "huge"),
      ("l", Double.greatestFiniteMagnitude, "huge"), ("m", Int64.max, "exact"), ("n", 5, "exact"), ("o", -6, "exact"),
    ]
    for (index, (id, n, group)) in values.enumerated() {
      try await rows.document(id).setData(["n": n, "group": group, "index": index])
      for path in odd { try await rows.document(id).updateData([path: index]) }
    }
    try await rows.document("without").setData(["group": "small", "index": 99])
    _ = try await rows.getDocuments(source: .server)

    func expectSame(_ query: Hearth.Query, _ fields: [AggregateField], _ name: String) async throws {
      let server = try await query.aggregate(fields).getAggregation(source: .server)
      let cache = try await query.aggregate(fields).getAggregation(source: .cache)
      for field in fields {
        #expect(Self.text(server.get(field)) == Self.text(cache.get(field)), "\(field) of \(name): server, then cache")
      }
      let again = try await query.aggregate(fields.reversed()).getAggregation(source: .server)
      #expect(fields.contains { Self.text(server.get($0)) == "nan" } || again == server, "\(name)")
    }
    for group in Set(values.map(\.group)).union(["nobody"]) {
      let query = rows.whereField("group", isEqualTo: group)
      try await expectSame(query, [.sum("n"), .average("n")], group)
      try await expectSame(query, [.count()], group)
    }
    for path in odd { try await expectSame(rows, [.sum(path), .average(path)], "\(path)") }
    for (name, query) in [
      ("cursors", rows.order(by: "index").start(at: [2]).end(before: [5])),
      ("limit to last", rows.order(by: "index").limit(toLast: 3)),
      ("descending", rows.order(by: "index", descending: true).start(after: [9]).limit(to: 4)),
    ] {
      try await expectSame(query, [.count(), .sum("index"), .average("index")], name)
    }
    let sum = try await rows.whereField("group", isEqualTo: "exact").aggregate([.sum("n")]).getAggregation(
      source: .server)
    #expect((sum.get(.sum("n")) as? NSNumber)?.int64Value == Int64.max - 1, "only the end of the sum counts")

    let six = (0..<6).map { AggregateField.sum("f\($0)") }
    let tooMany = await #expect(throws: (any Error).self) {
      try await rows.aggregate(six).getAggregation(source: .server)
    }
    // The emulator's own code for it is unknown.
    let codes = [FirestoreErrorCode.invalidArgument.rawValue, FirestoreErrorCode.unknown.rawValue]
    #expect(codes.contains((tooMany as? NSError)?.code ?? 0))
    try await client.firestore.terminate()
  }

  /// A number as both sides must have it: kind and value.
  private static func text(_ value: Any) -> String {
    guard let number = value as? NSNumber else { return "\(value)" }
    let double = number.doubleValue
    if double.isNaN { return "nan" }
    return Int64(exactly: double) == nil || double.magnitude >= 0x1p53 ? "\(number)" : "\(Int64(double))"
  }

  // MARK: - Bundles

  func bundles(_ port: Int, _ project: String) async throws {
    let client = try InteropClient(port: port, project: project)
    let other = try InteropClient(port: port, project: project)
    // The backend's c1 is newer than the bundle, c2 is not there any more, c3 came later.
    try await other.document("cities/c1").setData(["n": 10])
    try await other.document("cities/c3").setData(["n": 3])
    let progress = try await client.firestore.loadBundle(Self.bundle(of: project))
    #expect(progress.state == .success && progress.documentsLoaded == 2)
    let query = try #require(await client.firestore.getQuery(named: "largest"))
    #expect(query == client.collection("cities").order(by: "n").limit(toLast: 2))
    #expect(try await query.getDocuments(source: .cache).documents.map(\.documentID) == ["c1", "c2"])

    let log = EventLog(query)
    let synced = try await log.newest("the backend's state") { !$0.metadata.isFromCache && $0.count == 2 }
    #expect(synced.documents.map(\.documentID) == ["c3", "c1"])
    #expect(synced.documents.map { $0.get("n") as? Int } == [3, 10])
    #expect(log.all.first?.documents.map(\.documentID) == ["c1", "c2"], "the bundle's documents come first")
    log.remove()
    // Older than what the cache now holds.
    let again = try await client.firestore.loadBundle(Self.bundle(of: project, id: "other"))
    #expect(again == progress)
    #expect(try await client.document("cities/c1").getDocument(source: .cache).get("n") as? Int == 10)
    #expect(try await client.document("cities/c2").getDocument(source: .server).exists == false)
    for client in [client, other] { try await client.firestore.terminate() }
  }

  private static func bundle(of project: String, id: String = "cities") -> Data {
    let root = "projects/\(project)/databases/(default)/documents"
    let time = "2020-01-01T00:00:00Z"
    func sized(_ element: String) -> String { "\(element.utf8.count)\(element)" }
    var body = sized(
      #"{"namedQuery":{"name":"largest","readTime":"\#(time)","bundledQuery":{"parent":"\#(root)","limitType":"LAST","#
        + #""structuredQuery":{"from":[{"collectionId":"cities"}],"limit":{"value":2},"#
        + #""orderBy":[{"field":{"fieldPath":"n"},"direction":"ASCENDING"}]}}}}"#)
    for (id, n) in [("c1", 1), ("c2", 2)] {
      let name = "\(root)/cities/\(id)"
      body += sized(
        #"{"documentMetadata":{"name":"\#(name)","readTime":"\#(time)","exists":true,"queries":["largest"]}}"#)
      body += sized(
        #"{"document":{"name":"\#(name)","createTime":"\#(time)","updateTime":"\#(time)","#
          + #""fields":{"n":{"integerValue":"\#(n)"}}}}"#)
    }
    let metadata =
      #"{"metadata":{"id":"\#(id)","createTime":"\#(time)","version":1,"totalDocuments":2,"#
      + #""totalBytes":\#(body.utf8.count)}}"#
    return Data((sized(metadata) + body).utf8)
  }

  // MARK: - Network

  func flicker(_ port: Int, _ project: String) async throws {
    let client = try InteropClient(port: port, project: project)
    let witness = try InteropClient(port: port, project: project)
    let log = EventLog(client.collection("totals"))
    for number in 1...40 {
      // Google's backends repeat a write whose acknowledgement was lost, so it is one that can be repeated.
      client.document("totals/all").setData(["n": FieldValue.arrayUnion([number])], merge: true, completion: nil)
      try await client.firestore.disableNetwork()
      client.document("totals/t\(number % 10)").setData(["n": number], completion: nil)
      try await client.firestore.enableNetwork()
      // Now and then the streams get as far as they can.
      if number.isMultiple(of: 8) { _ = try await client.document("totals/all").getDocument() }
    }
    try await client.firestore.waitForPendingWrites()
    let totals = try await witness.collection("totals").getDocuments(source: .server)
    #expect(totals.count == 11)
    #expect(totals.documents.first?.get("n") as? [Int] == Array(1...40), "each write is made, in order")
    let last = try await log.newest("everything, acknowledged") {
      $0.count == 11 && !$0.metadata.hasPendingWrites && !$0.metadata.isFromCache
    }
    #expect(last.documents.map { "\($0.data())" } == totals.documents.map { "\($0.data())" })
    log.remove()
    for client in [client, witness] { try await client.firestore.terminate() }
  }
}
