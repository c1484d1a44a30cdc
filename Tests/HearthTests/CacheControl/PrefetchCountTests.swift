import Foundation
import Hearth
import HearthTesting
import TestSupport
import Testing

@Suite("The number of documents of a prefetch", .timeLimit(.minutes(1)))
struct PrefetchCountTests {
  private func withCities(_ body: (ScriptedBackend, Firestore) async throws -> Void) async throws {
    try await ScriptedBackend.run { backend in
      for n in 1...3 { try await backend.others.document("cities/city-\(n)").setData(["n": n]) }
      let db = backend.firestore(named: "phone")
      try await body(backend, db)
      try await db.terminate()
    }
  }

  private func progress(_ db: Firestore, within limit: Duration? = nil) -> Task<[PrefetchProgress], any Error> {
    Task {
      var all: [PrefetchProgress] = []
      let prefetch = db.collection("cities").prefetchProgress(within: limit, countsDocuments: true)
      for try await progress in prefetch { all.append(progress) }
      return all
    }
  }

  /// Returns when the result is stored, and so the prefetch has all but the number.
  private func resultIsThere(_ db: Firestore) async throws {
    while try await db.collection("cities").getDocuments(source: .cache).count < 3 { await Task.yield() }
  }

  @Test("the last element has the number, also when the backend gives it after the result")
  func lateNumber() async throws {
    try await withCities { backend, db in
      backend.hold(.reads)
      let task = progress(db)
      try await waitUntil { backend.heldCount == 1 }
      try await resultIsThere(db)
      backend.release()
      let all = try await task.value
      #expect(all.last?.totalDocumentCount == 3 && all.last?.receivedDocumentCount == 3)
      #expect(all.map(\.isFinished) == Array(repeating: false, count: all.count - 1) + [true])
    }
  }

  @Test("a number that the backend refuses does not keep the prefetch from its end")
  func refusedNumber() async throws {
    try await withCities { backend, db in
      backend.reject(.reads, with: .permissionDenied)
      let last = try await progress(db).value.last
      #expect(last?.isFinished == true && last?.totalDocumentCount == nil && last?.receivedDocumentCount == 3)
    }
  }

  @Test("at its limit a prefetch that has its result ends well without the number")
  func missingNumber() async throws {
    try await withCities { backend, db in
      try await db.collection("cities").prefetch()
      backend.hold(.reads)
      let last = try await progress(db, within: .seconds(1)).value.last
      #expect(last?.isFinished == true && last?.totalDocumentCount == nil)
    }
  }
}
