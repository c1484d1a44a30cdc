import Foundation
import Synchronization
import Testing

@testable import Hearth

/// Errors, retries, reads and writes of a transaction's block, the threads that run it, cancellation, and the end of the client.
@Suite("Transaction blocks", .timeLimit(.minutes(2)))
struct TransactionBlockTests {
  /// Runs a transaction with the completion form, whose block throws instead of storing its error.
  func run(
    _ db: Firestore, attempts: Int = 5, _ block: @escaping @Sendable (Hearth.Transaction) throws -> Any?
  ) async -> (result: UncheckedSendableBox<Any?>, error: NSError?) {
    let options = TransactionOptions()
    options.maxAttempts = attempts
    return await withCheckedContinuation { continuation in
      db.runTransaction(with: options) { transaction, errorPointer in
        do {
          return try block(transaction)
        } catch {
          errorPointer?.pointee = error as NSError
          return nil
        }
      } completion: { result, error in
        continuation.resume(returning: (UncheckedSendableBox(result), error as NSError?))
      }
    }
  }

  /// Runs a transaction with the form for tasks.
  ///
  /// - Returns: its error.
  func runAwaited(
    _ db: Firestore, _ block: @escaping @Sendable (Hearth.Transaction) throws -> Void
  ) async -> NSError? {
    await thrown {
      _ = try await db.runTransaction { transaction, errorPointer in
        do {
          try block(transaction)
        } catch {
          errorPointer?.pointee = error as NSError
        }
        return nil
      }
    }
  }

  @Test("the block's own error comes as it is, also when it has made a write that cannot be")
  func ownErrorFirst() async throws {
    try await TestBackend.run { host in
      let db = try TestFirestore(host: host).firestore
      let own = NSError(domain: "app", code: 3, userInfo: ["why": "not enough"])
      let answer = await run(db) { transaction in
        #expect(try !transaction.getDocument(db.document("rooms/a")).exists)
        transaction.setData([:], forDocument: db.document("rooms/b"))
        transaction.updateData(["n": 1], forDocument: db.document("rooms/a"))
        throw own
      }
      #expect(answer.error == own)
      #expect(try await !db.document("rooms/b").getDocument(source: .server).exists)
      try await db.terminate()
    }
  }

  @Test("an error of Firestore's own that is worth it has the block run again, with fresh reads")
  func retriedByCode() async throws {
    try await TestBackend.run { host in
      let db = try TestFirestore(host: host).firestore
      let other = try TestFirestore(host: host).firestore
      let runs = Counter()
      let answer = await run(db) { transaction in
        let seen = try transaction.getDocument(db.document("rooms/a"))["n"] as? Int
        guard runs.increment() > 1 else {
          let written = DispatchSemaphore(value: 0)
          other.document("rooms/a").setData(["n": 7]) { _ in written.signal() }
          written.wait()
          throw NSError(domain: FirestoreErrorDomain, code: FirestoreErrorCode.aborted.rawValue)
        }
        return seen
      }
      #expect(answer.result.value as? Int == 7)
      #expect(runs.value == 2)
      let final = await run(db) { _ in
        runs.increment()
        throw FirestoreErrorCode(.notFound)
      }
      #expect(final.error?.code == FirestoreErrorCode.notFound.rawValue)
      #expect(runs.value == 3)
      for client in [db, other] { try await client.terminate() }
    }
  }

  @Test("after the last attempt the conflict itself is the error, and no more runs were made than allowed")
  func attemptsEnd() async throws {
    try await TestBackend.run { host in
      let db = try TestFirestore(host: host).firestore
      let other = try TestFirestore(host: host).firestore
      try await db.document("rooms/a").setData(["n": 0])
      let runs = Counter()
      let answer = await run(db, attempts: 2) { transaction in
        _ = try transaction.getDocument(db.document("rooms/a"))
        let written = DispatchSemaphore(value: 0)
        other.document("rooms/a").setData(["n": runs.increment()]) { _ in written.signal() }
        written.wait()
        transaction.setData(["mine": true], forDocument: db.document("rooms/b"))
        return nil
      }
      let code = answer.error?.code
      #expect(
        code == FirestoreErrorCode.aborted.rawValue || code == FirestoreErrorCode.failedPrecondition.rawValue,
        "\(answer.error.map(String.init(describing:)) ?? "success")")
      #expect(runs.value == 2)
      #expect(try await !db.document("rooms/b").getDocument(source: .server).exists)
      for client in [db, other] { try await client.terminate() }
    }
  }

  @Test("several writes of one document take effect in order, whatever was read")
  func severalWrites() async throws {
    try await TestBackend.run { host in
      let db = try TestFirestore(host: host).firestore
      let (there, missing) = (db.document("rooms/there"), db.document("rooms/missing"))
      try await there.setData(["old": 1])
      let answer = await run(db) { transaction in
        _ = try transaction.getDocument(there)
        #expect(try !transaction.getDocument(missing).exists)
        transaction.deleteDocument(there).setData(["new": 2], forDocument: there)
          .updateData(["more": FieldValue.increment(Int64(3))], forDocument: there)
        transaction.setData(["a": 1], forDocument: missing).updateData(["b": 2], forDocument: missing)
          .setData(["c": 3], forDocument: missing, merge: true)
        transaction.setData(["gone": 1], forDocument: db.document("rooms/gone"))
          .deleteDocument(db.document("rooms/gone"))
        return nil
      }
      #expect(answer.error == nil)
      #expect(try await there.getDocument(source: .server).data() as? [String: Int] == ["new": 2, "more": 3])
      #expect(try await missing.getDocument(source: .server).data() as? [String: Int] == ["a": 1, "b": 2, "c": 3])
      #expect(try await !db.document("rooms/gone").getDocument(source: .server).exists)
      try await db.terminate()
    }
  }

  @Test("a document that comes into being after it was read as missing has the block run again")
  func createdMeanwhile() async throws {
    try await TestBackend.run { host in
      let db = try TestFirestore(host: host).firestore
      let other = try TestFirestore(host: host).firestore
      let runs = Counter()
      let answer = await run(db) { transaction in
        let existed = try transaction.getDocument(db.document("names/a")).exists
        if runs.increment() == 1 {
          let written = DispatchSemaphore(value: 0)
          other.document("names/a").setData(["owner": "other"]) { _ in written.signal() }
          written.wait()
        }
        if !existed { transaction.setData(["owner": "me"], forDocument: db.document("names/a")) }
        return existed
      }
      #expect(answer.error == nil)
      #expect(answer.result.value as? Bool == true)
      #expect(runs.value == 2)
      #expect(try await db.document("names/a").getDocument(source: .server)["owner"] as? String == "other")
      for client in [db, other] { try await client.terminate() }
    }
  }

  @Test("reads show the backend's state and not what waits to be sent, and name themselves as fresh")
  func freshReads() async throws {
    try await TestBackend.run { host in
      let db = try TestFirestore(host: host).firestore
      try await db.document("rooms/a").setData(["n": 1])
      let answer = await run(db) { transaction in
        let snapshot = try transaction.getDocument(db.document("rooms/a"))
        #expect(!snapshot.metadata.isFromCache && !snapshot.metadata.hasPendingWrites)
        let again = try transaction.getDocument(db.document("rooms/a"))
        #expect(again == snapshot)
        #expect(throws: NSError.self) {
          transaction.setData([:], forDocument: db.document("rooms/b"))
          _ = try transaction.getDocument(db.document("rooms/b"))
        }
        return snapshot
      }
      let snapshot = try #require(answer.result.value as? DocumentSnapshot)
      #expect(snapshot["n"] as? Int == 1)
      #expect(snapshot.reference == db.document("rooms/a"))
      try await db.terminate()
    }
  }

  @Test("the result is passed through as it is, and the completion comes on the settings' queue")
  func result() async throws {
    final class Thing: Sendable {}
    let db = try TestFirestore().firestore
    let settings = db.settings
    let key = DispatchSpecificKey<Bool>()
    settings.dispatchQueue.setSpecific(key: key, value: true)
    db.settings = settings
    let thing = Thing()
    let blockQueues = Recorder<Bool>()
    let completions = Recorder<(isOnQueue: Bool, isSame: Bool)>()
    db.runTransaction { _, _ in
      blockQueues.record(DispatchQueue.getSpecific(key: key) == true || Thread.isMainThread)
      return thing
    } completion: { result, error in
      #expect(error == nil)
      completions.record((DispatchQueue.getSpecific(key: key) == true, result as AnyObject? === thing))
    }
    #expect(try await blockQueues.next() == false)
    let completion = try await completions.next()
    #expect(completion.isOnQueue && completion.isSame)
    let asynchronous = try await db.runTransaction { _, _ in thing }
    #expect(asynchronous as AnyObject? === thing)
    try await db.terminate()
  }

  @Test("a transaction in a transaction's block is one of its own")
  func nested() async throws {
    try await TestBackend.run { host in
      let db = try TestFirestore(host: host).firestore
      let answer = await run(db) { (transaction) throws in
        #expect(try !transaction.getDocument(db.document("rooms/outer")).exists)
        let ended = DispatchSemaphore(value: 0)
        db.runTransaction { inner, _ in
          inner.setData(["n": 1], forDocument: db.document("rooms/inner"))
          return nil
        } completion: { _, error in
          #expect(error == nil)
          ended.signal()
        }
        ended.wait()
        transaction.setData(["n": 2], forDocument: db.document("rooms/outer"))
        return nil
      }
      #expect(answer.error == nil)
      #expect(try await db.collection("rooms").getDocuments(source: .server).ids == ["inner", "outer"])
      try await db.terminate()
    }
  }

  @Test("hundreds of transactions at once all end, though each block waits for the network")
  func many() async throws {
    try await TestBackend.run { host in
      let db = try TestFirestore(host: host).firestore
      let count = 600
      let ended = Recorder<NSError?>()
      for number in 0..<count {
        db.runTransaction { transaction, errorPointer in
          do {
            let document = db.document("rooms/\(number)")
            let exists = try transaction.getDocument(document).exists
            transaction.setData(["existed": exists], forDocument: document)
          } catch {
            errorPointer?.pointee = error as NSError
          }
          return nil
        } completion: { _, error in
          ended.record(error as NSError?)
        }
      }
      for _ in 0..<count { #expect(try await ended.next() == nil) }
      let total = try await db.collection("rooms").count.getAggregation(source: .server).count
      #expect(total == NSNumber(value: count))
      try await db.terminate()
    }
  }

  @Test("a block may wait for asynchronous work of its own")
  func waitsForTasks() async throws {
    try await TestBackend.run { host in
      let db = try TestFirestore(host: host).firestore
      try await db.document("rooms/a").setData(["n": 1])
      let answers = await withTaskGroup(of: Int?.self) { group in
        for number in 0..<8 {
          group.addTask {
            await run(db) { transaction in
              let read = Mutex<Int?>(nil)
              let ended = DispatchSemaphore(value: 0)
              Task {
                let snapshot = try? await db.document("rooms/a").getDocument(source: .server)
                read.withLock { $0 = snapshot?["n"] as? Int }
                ended.signal()
              }
              ended.wait()
              transaction.setData(["n": number], forDocument: db.document("rooms/b\(number)"))
              return read.withLock { $0 }
            }.result.value as? Int
          }
        }
        return await group.reduce(into: [Int?]()) { $0.append($1) }
      }
      #expect(answers == Array(repeating: 1, count: 8))
      try await db.terminate()
    }
  }

  @Test("a cancelled task stops waiting, and the transaction is made all the same")
  func cancellation() async throws {
    try await TestBackend.run { host in
      let db = try TestFirestore(host: host).firestore
      let (began, goOn) = (Recorder<Void>(), DispatchSemaphore(value: 0))
      let task = Task {
        _ = try await db.runTransaction { transaction, _ in
          began.record(())
          goOn.wait()
          transaction.setData(["n": 1], forDocument: db.document("rooms/a"))
          return nil
        }
      }
      try await began.next()
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      goOn.signal()
      let (events, registration) = db.collection("rooms").record()
      _ = try await events.next { (try? $0.get().ids) == ["a"] }
      registration.remove()
      try await db.terminate()
    }
  }

  @Test("a client that is terminated ends its transactions at once and does not run their blocks again")
  func termination() async throws {
    try await TestBackend.run { host in
      let db = try TestFirestore(host: host).firestore
      let document = db.document("rooms/a")
      let (began, goOn) = (Recorder<Void>(), DispatchSemaphore(value: 0))
      let runs = Counter()
      async let reading = runAwaited(db) { transaction in
        runs.increment()
        began.record(())
        goOn.wait()
        _ = try transaction.getDocument(document)
      }
      try await began.next()
      async let writing = runAwaited(db) { transaction in
        runs.increment()
        began.record(())
        goOn.wait()
        transaction.setData(["n": 1], forDocument: document)
      }
      try await began.next()
      try await db.terminate()
      goOn.signal()
      goOn.signal()
      let read = await reading
      #expect(read?.domain == FirestoreErrorDomain)
      #expect(read?.code == FirestoreErrorCode.failedPrecondition.rawValue)
      #expect(read?.localizedDescription == "The client has already been terminated.")
      #expect(await writing?.code == FirestoreErrorCode.cancelled.rawValue)
      #expect(runs.value == 2)
    }
  }

  @Test("a client that is terminated between two attempts makes no other one")
  func terminationDuringPause() async throws {
    let db = try await TestFirestore.offline()
    let document = db.document("rooms/a")
    let runs = Counter()
    // The first attempt fails at once, the second one after a pause; then there is a longer pause. A thread of its own ends the client
    // in it, because a task may have to wait for its turn longer than that where many tests run.
    let secondRan = DispatchSemaphore(value: 0)
    Thread {
      secondRan.wait()
      db.terminate(completion: nil)
    }.start()
    async let answer = runAwaited(db) { transaction in
      if runs.increment() == 2 { secondRan.signal() }
      _ = try transaction.getDocument(document)
    }
    let error = await answer
    #expect(error?.domain == FirestoreErrorDomain)
    #expect(runs.value == 2)
  }
}
