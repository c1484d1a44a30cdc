import Foundation
import Hearth
import HearthTesting
import TestSupport
import Testing

@testable import HearthCommand

@Suite("The demo's count of attempts", .timeLimit(.minutes(2)))
struct AttemptRecorderTests {
  @Test("an attempt that ends without an answer counts, one that is answered does not")
  func count() async throws {
    try await ScriptedBackend.run { backend in
      let firestore = backend.firestore()
      let recorder = AttemptRecorder(firestore)
      let counter = firestore.document("totals/all")
      try await counter.setData(["count": FieldValue.increment(Int64(1))], merge: true)
      #expect(recorder.count == 0)

      backend.hold(.writes)
      counter.setData(["count": FieldValue.increment(Int64(1))], merge: true, completion: nil)
      try await waitUntil { try await firestore.pendingWrites().first?.state == .sent }
      backend.goOffline()
      try await waitUntil { recorder.count == 1 }
      backend.release()
      backend.goOnline()
      try await firestore.outbox.retryNow()
      try await firestore.waitForPendingWrites()
      #expect(recorder.count == 1)
      try await firestore.terminate()
    }
  }
}
