import Foundation
import HearthCache
import HearthModel
import HearthPlan
import HearthStore
import HearthSync
import Synchronization
import Testing

@testable import Hearth

/// Operations whose effort grows with the cache leave the loop to others on their way.
@Suite("Long operations and the loop", .timeLimit(.minutes(1)))
struct LoopStepTests {
  private func makeClient(documentsOnLoop: Int = 4_000, inMemory: Bool = false) throws -> LoopClient {
    let folder = try TemporaryFolder()
    var configuration = try SuspensionTests.configuration(folder.url)
    if inMemory { configuration.cache = .memory(.leastRecentlyUsed(sizeBytes: -1)) }
    configuration.backgroundQueryLimits.documentsOnLoop = documentsOnLoop
    return LoopClient(configuration, in: folder)
  }

  @Test(
    "a write made while a long list of pending writes is read does not wait for it", .heavyWork,
    arguments: [false, true])
  func pendingWrites(inMemory: Bool) throws {
    let client = try makeClient(inMemory: inMemory)
    client.handle(try (0..<1_000).map { try client.write("a/\($0)") })
    let listed = LoopAnswer<[MutationBatch]>()
    client.handle([
      client.request(
        .pendingWrites {
          listed.set((try? $0.get().batches) ?? [])
          return true
        })
    ])
    #expect(listed.value == nil)
    let found = LoopAnswer<Bool>()
    client.handle([
      try client.write("a/meanwhile"),
      client.request(
        .engine(.readDocument(try DocumentKey(parsing: "a/meanwhile"))) {
          found.set((try? $0.get())?.isFound == true)
        } value: {
          if case .document(let document) = $0 { document } else { nil }
        }),
    ])
    #expect(found.value == true && listed.value == nil)
    var steps = 1
    while listed.value == nil, client.handlePosted() > 0 { steps += 1 }
    #expect(listed.value?.map(\.batchID) == Array(1...1_000))
    #expect(steps >= 4)
  }

  @Test("a list of pending writes that is being read ends when the client does")
  func terminated() throws {
    let client = try makeClient()
    client.handle(try (0..<1_000).map { try client.write("a/\($0)") })
    let end = LoopAnswer<NSError?>()
    let list = client.request(
      .pendingWrites {
        if case .failure(let error) = $0 { end.set(error) }
        return true
      })
    client.handle([list, .stop { _ in }])
    #expect(end.value??.code == FirestoreErrorCode.cancelled.rawValue)
    // The next step of the list, and on a busy machine a timer as well. Nothing follows.
    #expect(client.handlePosted() >= 1)
    #expect(client.handlePosted() == 0)
  }

  @Test("queries are explained and indexes are listed in the background, on the state of the moment of the call")
  func readings() async throws {
    let client = try makeClient(documentsOnLoop: 10)
    client.handle(try (0..<20).map { try client.write("a/\($0)") })
    let execution = LoopAnswer<Result<QueryExecution, NSError>>()
    let listing = LoopAnswer<Result<[IndexListing], NSError>>()
    let query = HearthModel.Query(path: try ResourcePath(parsing: "a"))
    client.handle([
      client.request(.explain(query) { execution.set($0) }), client.request(.listIndexes { listing.set($0) }),
      try client.write("a/later"),
      client.request(.engine(.setIndexes([try IndexDefinition(collectionGroup: "a", fields: [])])) { _ in }),
    ])
    #expect(execution.value == nil && listing.value == nil)
    await client.handlePosted { execution.value != nil && listing.value != nil }
    #expect(try execution.value?.get().resultCount == 20)
    #expect(try listing.value?.get().isEmpty == true)
  }

  @Test("what touches few documents is explained at once")
  func small() throws {
    let client = try makeClient(documentsOnLoop: 10)
    client.handle(try (0..<10).map { try client.write("a/\($0)") })
    let execution = LoopAnswer<Result<QueryExecution, NSError>>()
    client.handle([
      client.request(
        .explain(HearthModel.Query(path: try ResourcePath(parsing: "a"))) { execution.set($0) })
    ])
    #expect(try execution.value?.get().resultCount == 10)
  }

  @Test("a client that ends closes what is read in the background")
  func closes() throws {
    let client = try makeClient(documentsOnLoop: 0)
    client.handle(try (0..<20).map { try client.write("a/\($0)") })
    let end = LoopAnswer<NSError?>()
    client.handle([
      client.request(
        .explain(HearthModel.Query(path: try ResourcePath(parsing: "a"))) {
          if case .failure(let error) = $0 { end.set(error) }
        }), .stop { _ in },
    ])
    #expect(end.value??.code == FirestoreErrorCode.cancelled.rawValue)
  }
}
