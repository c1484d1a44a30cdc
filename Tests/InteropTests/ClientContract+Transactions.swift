import Foundation
import Hearth
import InteropSupport
import Synchronization
import Testing

extension ClientContract {
  func transactions(_ port: Int, _ project: String) async throws {
    let clients = try (1...2).map { _ in try InteropClient(port: port, project: project) }
    try await clients[0].document("accounts/a").setData(["balance": 100])
    try await clients[0].document("accounts/b").setData(["balance": 0])

    let runs = Counter()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for firestore in clients.map(\.firestore) {
        group.addTask {
          for _ in 1...3 { try await transfer(10, firestore, runs) }
        }
      }
      try await group.waitForAll()
    }
    #expect(runs.value == 6)
    let witness = try InteropClient(port: port, project: project)
    #expect(try await witness.document("accounts/a").getDocument(source: .server).get("balance") as? Int == 40)
    #expect(try await witness.document("accounts/b").getDocument(source: .server).get("balance") as? Int == 60)

    try await runsAgainAfterConflict(clients[0], witness)
    try await endsWithoutWriting(clients[0])
    for client in clients + [witness] { try await client.firestore.terminate() }
  }

  private func transfer(_ amount: Int, _ firestore: Firestore, _ runs: Counter) async throws {
    // Five attempts may not be enough when two clients collide all the time; the program decides to go on.
    while true {
      do {
        _ = try await firestore.runTransaction { transaction, errorPointer in
          do {
            let a = try transaction.getDocument(firestore.document("accounts/a")).get("balance") as? Int ?? 0
            let b = try transaction.getDocument(firestore.document("accounts/b")).get("balance") as? Int ?? 0
            transaction.updateData(["balance": a - amount], forDocument: firestore.document("accounts/a"))
            transaction.updateData(["balance": b + amount], forDocument: firestore.document("accounts/b"))
          } catch {
            errorPointer?.pointee = error as NSError
          }
          return nil
        }
        runs.increment()
        return
      } catch let error as NSError where [9, 10].contains(error.code) {
        continue
      }
    }
  }

  /// A document that the transaction only read changes before its first commit.
  private func runsAgainAfterConflict(_ client: InteropClient, _ other: InteropClient) async throws {
    let rule = client.document("rules/one")
    try await rule.setData(["factor": 2])
    let attempts = Counter()
    let result = try await client.firestore.runTransaction { transaction, errorPointer in
      do {
        let factor = try transaction.getDocument(rule).get("factor") as? Int ?? 0
        if attempts.increment() == 1 {
          let changed = DispatchSemaphore(value: 0)
          other.document("rules/one").setData(["factor": 5]) { _ in changed.signal() }
          changed.wait()
        }
        transaction.setData(["product": factor * 10], forDocument: client.document("results/one"))
        return factor
      } catch {
        errorPointer?.pointee = error as NSError
        return nil
      }
    }
    #expect(result as? Int == 5)
    #expect(attempts.value == 2)
    #expect(try await other.document("results/one").getDocument(source: .server).get("product") as? Int == 50)
  }

  private func endsWithoutWriting(_ client: InteropClient) async throws {
    let attempts = Counter()
    func run(_ block: @escaping (Transaction) throws -> Void) async -> NSError? {
      do {
        _ = try await client.firestore.runTransaction { transaction, errorPointer in
          attempts.increment()
          do { try block(transaction) } catch { errorPointer?.pointee = error as NSError }
          return nil
        }
        return nil
      } catch {
        return error as NSError
      }
    }
    let missing = client.document("accounts/missing")
    let updated = await run { (transaction) throws in
      let snapshot = try transaction.getDocument(missing)
      #expect(!snapshot.exists)
      transaction.updateData(["balance": 1], forDocument: missing)
    }
    #expect(updated?.code == FirestoreErrorCode.invalidArgument.rawValue)
    let unread = await run { $0.updateData(["balance": 1], forDocument: missing) }
    #expect(unread?.code == FirestoreErrorCode.notFound.rawValue)
    let late = await run { transaction in
      transaction.setData([:], forDocument: missing)
      _ = try transaction.getDocument(missing)
    }
    #expect(late?.code == FirestoreErrorCode.invalidArgument.rawValue)
    let foreign = await run { transaction in
      transaction.setData([:], forDocument: missing)
      throw NSError(domain: "app", code: 14)
    }
    #expect(foreign?.domain == "app")
    #expect(attempts.value == 4, "none of these is worth another attempt")
    #expect(try await missing.getDocument(source: .server).exists == false)
    #expect(await run { _ in } == nil, "a transaction without writes succeeds")
  }
}

private final class Counter: Sendable {
  private let count = Mutex(0)

  var value: Int { count.withLock { $0 } }

  @discardableResult
  func increment() -> Int {
    count.withLock {
      $0 += 1
      return $0
    }
  }
}
