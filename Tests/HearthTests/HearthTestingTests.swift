import Foundation
import Hearth
import HearthTesting
import TestSupport
import Testing

/// The product `HearthTesting`, used as a program's tests use it.
@Suite("The scripted backend", .timeLimit(.minutes(2)))
struct HearthTestingTests {
  private func code(_ body: () async throws -> Void) async -> FirestoreErrorCode.Code? {
    do {
      try await body()
      return nil
    } catch {
      return FirestoreErrorCode.Code(rawValue: (error as NSError).code)
    }
  }

  private func withBackend(_ body: (ScriptedBackend, Firestore) async throws -> Void) async throws {
    try await ScriptedBackend.run { backend in
      let db = backend.firestore()
      try await body(backend, db)
      try await db.terminate()
    }
  }

  @Test("without a script it is a backend: documents, listeners, transactions, aggregations")
  func plain() async throws {
    try await withBackend { backend, db in
      try await backend.others.document("cities/SF").setData(["n": 1])
      #expect(try await db.document("cities/SF").getDocument()["n"] as? Int == 1)
      _ = try await db.runTransaction { transaction, _ in
        transaction.updateData(["n": 2], forDocument: db.document("cities/SF"))
        return nil
      }
      #expect(try await db.collection("cities").count.getAggregation(source: .server).count == 1)
      for try await snapshot in db.collection("cities").snapshots {
        if snapshot.documents.first?["n"] as? Int == 2, !snapshot.metadata.isFromCache { break }
      }
      #expect(backend.receivedWrites.map(\.description) == ["update cities/SF"])
    }
  }

  @Test("a client with a name is one object until it is terminated, and then opens the cache of the one before")
  func named() async throws {
    try await ScriptedBackend.run { backend in
      backend.goOffline()
      let first = backend.firestore(named: "phone")
      #expect(backend.firestore(named: "phone") === first)
      let receipt = first.document("cities/SF").withReceipt.setData(["n": 1])
      try await receipt.saved()
      try await first.terminate()
      let second = backend.firestore(named: "phone") { $0.outbox.rejectedWriteLimit = 7 }
      #expect(second !== first)
      #expect(second.settings.outbox.rejectedWriteLimit == 7)
      #expect(try await second.pendingWrites().map(\.operations.first?.documentPath) == ["cities/SF"])
      #expect(try await second.receipt(for: receipt.id) != nil)
      // Another device has a cache of its own.
      let other = backend.firestore(named: "tablet")
      #expect(try await other.pendingWrites().isEmpty)
      try await second.terminate()
      try await other.terminate()
    }
  }

  @Test("the caches of clients with names go with the backend, and those of two backends are not the same")
  func foldersOfNames() async throws {
    func folder(_ db: Firestore) throws -> URL {
      let settings = try #require(db.settings.cacheSettings as? PersistentCacheSettings)
      return try #require(settings.directory)
    }
    let backends = [try await ScriptedBackend.start(), try await ScriptedBackend.start()]
    let clients = backends.map { $0.firestore(named: "phone") }
    let folders = try clients.map(folder)
    #expect(Set(folders).count == 2)
    for db in clients {
      try await db.document("cities/SF").setData(["n": 1])
      try await db.terminate()
    }
    #expect(folders.allSatisfy { FileManager.default.fileExists(atPath: $0.path) })
    for backend in backends { await backend.stop() }
    #expect(folders.allSatisfy { !FileManager.default.fileExists(atPath: $0.path) })
  }

  @Test("a write is refused as often as the script says, and the other ones are not")
  func rejects() async throws {
    try await withBackend { backend, db in
      backend.reject(.writes.at("cities/SF"), with: .permissionDenied, message: "not you")
      let first = await code { try await db.document("cities/SF").setData([:]) }
      #expect(first == .permissionDenied)
      try await db.document("cities/SF").setData(["n": 2])
      try await db.document("cities/LA").setData(["n": 1])
      #expect(try await db.rejectedWrites.writes().map(\.error.localizedDescription) == ["not you"])
      #expect(try await backend.others.collection("cities").getDocuments(source: .server).count == 2)
      // Transactions commit by another call.
      backend.reject(.writes, with: .permissionDenied)
      let transaction = await code {
        _ = try await db.runTransaction { transaction, _ in
          transaction.setData([:], forDocument: db.document("cities/X"))
          return nil
        }
      }
      #expect(transaction == .permissionDenied)
    }
  }

  @Test("of several waiting writes exactly the named one is refused, and one handed in again counts once")
  func rejectsTheNamedOne() async throws {
    for named in 1...5 {
      try await withBackend { backend, db in
        backend.goOffline()
        for number in 1...5 {
          let receipt = db.document("counters/\(number)").withReceipt.setData(
            ["n": FieldValue.increment(Int64(1))], merge: true)
          try await receipt.saved()
        }
        backend.reject(.writes.at("counters/\(named)"), with: .permissionDenied)
        backend.goOnline()
        try await db.outbox.retryNow()
        try await db.waitForPendingWrites()
        let refused = try await db.rejectedWrites.writes()
        #expect(refused.flatMap(\.operations).map(\.documentPath) == ["counters/\(named)"])
        let before = try await backend.others.collection("counters").getDocuments(source: .server)
        #expect(before.documents.map(\.documentID) == (1...5).filter { $0 != named }.map(String.init))
        #expect(before.documents.map { $0["n"] as? Int } == [1, 1, 1, 1])
        for write in refused { try await db.rejectedWrites.resubmit(write.id).acknowledged() }
        let after = try await backend.others.collection("counters").getDocuments(source: .server)
        #expect(after.documents.map { $0["n"] as? Int } == [1, 1, 1, 1, 1])
        #expect(backend.receivedWrites.count == 5)
      }
    }
  }

  @Test("a refusal of the script waits for its own write where the backend refuses an earlier one by itself")
  func rejectsBehindAnotherRefusal() async throws {
    try await withBackend { backend, db in
      backend.goOffline()
      let first = db.document("t/first").withReceipt.updateData(["n": 1])
      let second = db.document("t/second").withReceipt.setData(["n": 1])
      let third = db.document("t/third").withReceipt.setData(["n": 1])
      try await third.saved()
      backend.reject(.writes.at("t/second"), with: .permissionDenied)
      backend.goOnline()
      try await db.outbox.retryNow()
      try await third.acknowledged()
      let codes = [await code { try await first.acknowledged() }, await code { try await second.acknowledged() }]
      #expect(codes == [.notFound, .permissionDenied])
      let there = try await backend.others.collection("t").getDocuments(source: .server)
      #expect(there.documents.map(\.documentID) == ["third"])
    }
  }

  @Test("a listener that is held keeps no other one waiting, and goes on when it is released")
  func holdsOneListener() async throws {
    try await withBackend { backend, db in
      backend.hold(.listens.at("slow"))
      async let slow = db.collection("slow").getDocuments(source: .server)
      while backend.heldCount == 0 { await Task.yield() }
      let fast = try await db.collection("fast").getDocuments(source: .server)
      #expect(fast.isEmpty && backend.heldCount == 1)
      backend.release()
      let released = try await slow
      #expect(released.isEmpty)
      // One that is removed while it is held holds up nothing.
      backend.hold(.listens.at("slow"))
      let listener = db.collection("slow").addSnapshotListener { _, _ in }
      while backend.heldCount == 0 { await Task.yield() }
      listener.remove()
      while backend.heldCount != 0 { await Task.yield() }
      let other = try await db.collection("fast").getDocuments(source: .server)
      #expect(other.isEmpty)
    }
  }

  @Test("a listener that is removed while it is held uses up no failure that is meant for the next one")
  func removedWhileHeld() async throws {
    try await withBackend { backend, db in
      for _ in 0..<5 {
        backend.hold(.listens.at("slow"))
        backend.reject(.listens.at("slow"), with: .permissionDenied)
        let listener = db.collection("slow").addSnapshotListener { _, _ in }
        try await waitUntil { backend.heldCount != 0 }
        listener.remove()
        try await waitUntil { backend.heldCount == 0 }
        backend.release()
        let refused = await code { for try await _ in db.collection("slow").snapshots {} }
        #expect(refused == .permissionDenied)
        let documents = try await db.collection("slow").getDocuments(source: .server)
        #expect(documents.isEmpty)
      }
    }
  }

  private func increment(_ counter: DocumentReference, _ db: Firestore) async throws {
    _ = try await db.runTransaction { transaction, _ in
      transaction.setData(["n": FieldValue.increment(Int64(1))], forDocument: counter, merge: true)
      return nil
    }
  }

  @Test("the commit of a transaction that the backend has received is answered, whatever the script says then")
  func transactionGoesOffline() async throws {
    try await withBackend { backend, db in
      let counter = db.document("counters/a")
      for _ in 0..<5 {
        let before = backend.receivedWrites.count
        async let change: Void = increment(counter, db)
        while backend.receivedWrites.count == before { await Task.yield() }
        backend.goOffline()
        backend.goOnline()
        try await change
      }
      #expect(backend.receivedWrites.count == 5)
      #expect(try await backend.others.document("counters/a").getDocument(source: .server)["n"] as? Int == 5)
    }
  }

  @Test("an error that passes is hidden from the program")
  func transient() async throws {
    try await withBackend { backend, db in
      backend.reject(.writes, with: .unavailable)
      let receipt = db.document("cities/SF").withReceipt.setData([:])
      try await receipt.acknowledged()
      #expect(backend.receivedWrites.count == 1)
    }
  }

  @Test("a listener fails with the error of the script, and others go on")
  func listeners() async throws {
    try await withBackend { backend, db in
      backend.reject(.listens.at("secrets"), with: .permissionDenied, times: nil)
      let refused = await code { for try await _ in db.collection("secrets").snapshots {} }
      #expect(refused == .permissionDenied)
      let cities = try await db.collection("cities").getDocuments(source: .server)
      #expect(cities.isEmpty)
      backend.reset()
      let secrets = try await db.collection("secrets").getDocuments(source: .server)
      #expect(secrets.isEmpty)
      backend.reject(.reads, with: .failedPrecondition)
      let aggregation = await code { try await db.collection("cities").count.getAggregation(source: .server) }
      #expect(aggregation == .failedPrecondition)
    }
  }

  @Test("a request that is held waits, and goes on when it is released")
  func holds() async throws {
    try await withBackend { backend, db in
      backend.hold(.writes)
      let receipt = db.document("cities/SF").withReceipt.setData([:])
      while backend.heldCount == 0 { await Task.yield() }
      #expect(backend.receivedWrites.isEmpty)
      guard case .saved = receipt.state else {
        Issue.record("the state is \(receipt.state)")
        return
      }
      backend.release()
      try await receipt.acknowledged()
      backend.delay(.reads, by: .milliseconds(10))
      #expect(try await db.collection("cities").count.getAggregation(source: .server).count == 1)
    }
  }

  @Test("a request that is held ends with its call, and counts once when it is sent again")
  func heldCallEnds() async throws {
    try await withBackend { backend, db in
      backend.hold(.writes)
      let receipt = db.document("cities/SF").withReceipt.setData([:])
      while backend.heldCount == 0 { await Task.yield() }
      backend.goOffline()
      while backend.heldCount != 0 { await Task.yield() }
      backend.goOnline()
      try await db.outbox.retryNow()
      while backend.heldCount == 0 { await Task.yield() }
      #expect(backend.heldCount == 1)
      backend.release()
      try await receipt.acknowledged()
      #expect(backend.receivedWrites.map(\.description) == ["set cities/SF"])
    }
  }

  @Test("a backend that is offline ends streams and refuses calls until it is online")
  func offline() async throws {
    try await withBackend { backend, db in
      try await db.document("cities/SF").setData(["n": 1])
      backend.goOffline()
      let read = await code { _ = try await db.document("cities/SF").getDocument(source: .server) }
      #expect(read == .unavailable)
      try await backend.others.document("cities/SF").updateData(["m": 1])
      let receipt = db.document("cities/SF").withReceipt.updateData(["n": 2])
      try await receipt.saved()
      backend.goOnline()
      try await db.outbox.retryNow()
      try await receipt.acknowledged()
      let data = try #require(try await backend.others.document("cities/SF").getDocument(source: .server).data())
      #expect(data as NSDictionary == ["n": 2, "m": 1] as NSDictionary)
    }
  }

  @Test("snapshots of documents and queries are made from plain data")
  func snapshots() throws {
    let snapshots = TestSnapshots()
    let city = try snapshots.document("cities/SF", ["name": "San Francisco", "tags": ["port"]], isFromCache: true)
    #expect(city.exists && city["name"] as? String == "San Francisco" && city.metadata.isFromCache)
    #expect(city.reference.path == "cities/SF" && !city.metadata.hasPendingWrites)
    let missing = try snapshots.document("cities/X", nil)
    #expect(!missing.exists)
    let cities = try snapshots.query(in: "cities", ["SF": ["n": 1], "LA": ["n": 2]])
    #expect(cities.documents.map(\.documentID) == ["LA", "SF"])
    #expect(cities.documentChanges.map(\.type) == [.added, .added] && !cities.metadata.isFromCache)
    let query = snapshots.firestore.collection("cities").whereField("n", isGreaterThan: 0).order(by: "n").limit(to: 2)
    let ordered = try snapshots.query(query, ["cities/SF": ["n": 1], "cities/LA": ["n": 2]])
    let next = try snapshots.query(
      query, ["cities/LA": ["n": 3], "cities/NY": ["n": 4]], pending: ["cities/LA"], since: ordered)
    #expect(next.documents.map(\.documentID) == ["LA", "NY"])
    #expect(next.documentChanges.map(\.type) == [.removed, .added, .modified])
    #expect(next.documentChanges.map(\.document.documentID) == ["SF", "NY", "LA"])
    #expect(next.metadata.hasPendingWrites && next.documents[0].metadata.hasPendingWrites)
    let one = try snapshots.queryDocument("cities/SF", ["n": 1])
    #expect(one.data() as NSDictionary == ["n": 1] as NSDictionary)
    #expect(throws: (any Error).self) { try snapshots.query(query, ["cities/SF": ["n": 0]]) }
    #expect(throws: (any Error).self) {
      try snapshots.query(query, ["cities/A": ["n": 1], "cities/B": ["n": 2], "cities/C": ["n": 3]])
    }
  }
}
