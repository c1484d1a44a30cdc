import Foundation
import Hearth
import InteropSupport
import Synchronization

/// Our own client. Its transactions read documents; queries are calls of their own.
///
/// It also repeats a transaction whose commit has lost its answer, as Google's does. So, if servers fail, one whose block has run again is uncertain:
/// it may have been committed before.
actor HearthListClient: ListClient {
  nonisolated let name: String
  nonisolated let queries = false
  private let port: Int
  private let project: String
  private let expectsFailures: Bool
  private var client: InteropClient?

  init(name: String, port: Int, project: String, expectsFailures: Bool = false) {
    self.name = name
    self.expectsFailures = expectsFailures
    self.port = port
    self.project = project
  }

  func perform(_ plan: ListPlan, isKilled: Bool) async throws -> ListAnswer {
    let client = try client ?? InteropClient(port: port, project: project)
    self.client = client
    let firestore = client.firestore
    let (reads, continuation) = AsyncStream.makeStream(of: Void.self)
    let answer = Task { [expectsFailures] in
      // A transaction that fails before it has read is not waited for.
      defer { continuation.finish() }
      let runs = Atomic(0)
      let answer = await Self.perform(plan, with: firestore) {
        runs.add(1, ordering: .relaxed)
        continuation.yield()
      }
      return expectsFailures && runs.load(ordering: .relaxed) > 1 ? .unknown : answer
    }
    guard isKilled, !plan.isBlind else { return await answer.value }
    // The transaction goes on with its commit at the same time.
    for await _ in reads { break }
    try await firestore.terminate()
    self.client = nil
    _ = await answer.value
    return .unknown
  }

  func end() async throws {
    try await client?.firestore.terminate()
  }

  /// - Parameter didRead: Called when a transaction has read, before it writes.
  private static func perform(
    _ plan: ListPlan, with firestore: Firestore, didRead: @escaping @Sendable () -> Void
  ) async -> ListAnswer {
    do {
      guard !plan.isBlind else { return try await write(plan, with: firestore) }
      return try await transact(plan, with: firestore, didRead: didRead)
    } catch let error as NSError {
      let certain: [FirestoreErrorCode.Code] = [.aborted, .failedPrecondition]
      let isCertain = FirestoreErrorCode.Code(rawValue: error.code).map(certain.contains) ?? false
      return isCertain ? .failed : .unknown
    }
  }

  private static func write(_ plan: ListPlan, with firestore: Firestore) async throws -> ListAnswer {
    let batch = firestore.batch()
    for append in plan.appends {
      batch.setData(union(append, of: plan), forDocument: firestore.document("lists/\(append.list)"), merge: true)
    }
    try await batch.commit()
    return ListAnswer(outcome: "committed")
  }

  private static func transact(
    _ plan: ListPlan, with firestore: Firestore, didRead: @escaping @Sendable () -> Void
  ) async throws -> ListAnswer {
    // Made before, because a client that was terminated makes no references: that is a programming error.
    let lists = Set(plan.reads + plan.appends.map(\.list))
    let references = Dictionary(uniqueKeysWithValues: lists.map { ($0, firestore.document("lists/\($0)")) })
    let reads = try await firestore.runTransaction { transaction, error in
      do {
        var reads: [String: [Int]] = [:]
        for list in plan.reads {
          guard let reference = references[list] else { continue }
          reads[list] = try transaction.getDocument(reference)["numbers"] as? [Int] ?? []
        }
        didRead()
        for append in plan.appends {
          guard let list = references[append.list] else { continue }
          var fields = union(append, of: plan)
          if let numbers = reads[append.list], !append.isBlind {
            // It is there if a run of the block before was committed.
            fields["numbers"] = numbers.contains(append.number) ? numbers : numbers + [append.number]
            transaction.setData(fields, forDocument: list)
          } else {
            transaction.setData(fields, forDocument: list, merge: true)
          }
        }
        return reads
      } catch let failure as NSError {
        error?.pointee = failure
        return nil
      }
    }
    return ListAnswer(outcome: "committed", reads: reads as? [String: [Int]] ?? [:])
  }

  private static func union(_ append: ListPlan.Append, of plan: ListPlan) -> [String: Any] {
    ["numbers": FieldValue.arrayUnion([append.number]), "epoch": plan.epoch, "group": append.group]
  }
}
