import Foundation
import Synchronization
import Testing

@testable import Hearth

@Suite("Transactions without a backend", .timeLimit(.minutes(1)))
struct TransactionTests {
  @Test("offline the attempts end with unavailable, and nothing is queued")
  func offline() async throws {
    let db = try await TestFirestore.offline()
    let options = TransactionOptions()
    options.maxAttempts = 2
    let attempts = Mutex(0)
    let error: NSError? = await withCheckedContinuation { continuation in
      db.runTransaction(with: options) { transaction, _ in
        attempts.withLock { $0 += 1 }
        transaction.setData(["a": 1], forDocument: db.document("rooms/a"))
        return "result"
      } completion: { result, error in
        #expect(result == nil)
        continuation.resume(returning: error as NSError?)
      }
    }
    #expect(error?.domain == FirestoreErrorDomain)
    #expect(error?.code == FirestoreErrorCode.unavailable.rawValue)
    #expect(attempts.withLock { $0 } == 2)
    #expect(try await db.pendingWrites().isEmpty)
  }

  @Test("an error of the block's own ends the transaction at once")
  func ownError() async throws {
    let db = try await TestFirestore.offline()
    let attempts = Mutex(0)
    let error = await thrown {
      _ = try await db.runTransaction { _, errorPointer in
        attempts.withLock { $0 += 1 }
        errorPointer?.pointee = NSError(domain: "app", code: 10)
        return nil
      }
    }
    #expect(error?.domain == "app")
    #expect(attempts.withLock { $0 } == 1)
  }

  @Test("nothing read and nothing written: the result comes without a backend, nil as well")
  func withoutWrites() async throws {
    let db = try await TestFirestore.offline()
    #expect(try await db.runTransaction { _, _ in 42 } as? Int == 42)
    #expect(try await db.runTransaction { _, _ in nil } == nil)
  }

  @Test(
    "a transaction object after its block, a foreign reference and a senseless number of attempts are programming errors"
  )
  func programmingErrors() async throws {
    let db = try await TestFirestore.offline()
    let other = try await TestFirestore.offline()
    let transaction = Transaction(firestore: db)
    #expect(throws: ProgrammingError("Provided document reference is from a different Cloud Firestore instance.")) {
      try transaction.validate(other.document("rooms/a"))
    }
    _ = try transaction.finish()
    #expect(
      throws: ProgrammingError("A transaction object cannot be used after its update block has been invoked.")
    ) {
      try transaction.validate(db.document("rooms/a"))
    }
    for number in [0, -1, Int(Int32.max) + 1] {
      #expect(throws: ProgrammingError("Invalid maximum number of attempts for transactions: \(number)")) {
        try TransactionOptions.validate(number)
      }
    }
    try TransactionOptions.validate(1)
  }
}
