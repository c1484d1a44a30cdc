import Foundation
import HearthCache
import HearthModel
import HearthStore
import HearthSync
import Synchronization
import Testing

@testable import Hearth

/// Operations whose effort grows with the cache leave the loop to others on their way.
@Suite("Long operations and the loop", .timeLimit(.minutes(1)))
struct LoopStepTests {
  /// A loop whose mailbox the test looks after.
  private final class Client {
    let folder: TemporaryFolder
    private let loop: ClientLoop
    private let queue = DispatchQueue(label: "loop")
    private let mailbox = Mailbox()
    private var nextNumber = 1

    final class Mailbox: Sendable {
      private let messages = Mutex<[ClientLoop.Message]>([])
      func post(_ message: ClientLoop.Message) { messages.withLock { $0.append(message) } }
      func take() -> [ClientLoop.Message] {
        messages.withLock { messages in
          defer { messages = [] }
          return messages
        }
      }
    }

    init(documentsOnLoop: Int = 4_000, inMemory: Bool = false) throws {
      folder = try TemporaryFolder()
      var configuration = ClientConfiguration(
        databaseID: DatabaseID(projectID: "demo"), endpoint: try Endpoint(host: "127.0.0.1:1", usesTLS: false),
        cache: inMemory
          ? .memory(.leastRecentlyUsed(sizeBytes: -1)) : .file(folder: folder.url.path, sizeBytes: -1),
        callbackQueue: .global())
      configuration.backgroundQueryLimits.documentsOnLoop = documentsOnLoop
      loop = ClientLoop(configuration, on: queue)
      handle([.start, request(.networkSwitch(isEnabled: false) { _ in })])
      _ = mailbox.take()
    }

    deinit { handle([.stop { _ in }]) }

    func handle(_ messages: [ClientLoop.Message]) {
      queue.sync { loop.handle(messages) { [mailbox] in mailbox.post($0) } }
    }

    func request(_ request: ClientRequest) -> ClientLoop.Message {
      defer { nextNumber += 1 }
      return .call(.request(RequestID(rawValue: nextNumber), request))
    }

    func write(_ path: String) throws -> ClientLoop.Message {
      defer { nextNumber += 1 }
      let mutation = Mutation.set(try DocumentKey(parsing: path), ["n": .integer(1)])
      return .call(
        .writes([
          WriteCall(
            write: LocalWrite(id: WriteID(rawValue: nextNumber), mutations: [mutation], localWriteTime: .now()))
        ]))
    }

    /// Handles what was posted to the loop, once.
    func handlePosted() -> Int {
      let messages = mailbox.take()
      handle(messages)
      return messages.count
    }

    /// Handles what is posted until the condition holds.
    func handlePosted(until isDone: () -> Bool) async {
      while !isDone() {
        _ = handlePosted()
        await Task.yield()
      }
    }
  }

  private final class Answer<Value: Sendable>: Sendable {
    private let stored = Mutex<Value?>(nil)
    var value: Value? { stored.withLock { $0 } }
    func set(_ value: Value) { stored.withLock { $0 = value } }
  }

  @Test(
    "a write made while a long list of pending writes is read does not wait for it", .heavyWork,
    arguments: [false, true])
  func pendingWrites(inMemory: Bool) throws {
    let client = try Client(inMemory: inMemory)
    client.handle(try (0..<1_000).map { try client.write("a/\($0)") })
    let listed = Answer<[MutationBatch]>()
    client.handle([client.request(.pendingWrites { listed.set((try? $0.get().batches) ?? []) })])
    #expect(listed.value == nil)
    let found = Answer<Bool>()
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
    let client = try Client()
    client.handle(try (0..<1_000).map { try client.write("a/\($0)") })
    let end = Answer<NSError?>()
    client.handle([
      client.request(.pendingWrites { if case .failure(let error) = $0 { end.set(error) } }), .stop { _ in },
    ])
    #expect(end.value??.code == FirestoreErrorCode.cancelled.rawValue)
    // The next step of the list, and on a busy machine a timer beside it. Nothing follows.
    #expect(client.handlePosted() >= 1)
    #expect(client.handlePosted() == 0)
  }

  @Test("queries are explained and indexes are listed in the background, on the state of the moment of the call")
  func readings() async throws {
    let client = try Client(documentsOnLoop: 10)
    client.handle(try (0..<20).map { try client.write("a/\($0)") })
    let execution = Answer<Result<QueryExecution, NSError>>()
    let listing = Answer<Result<[IndexListing], NSError>>()
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
    let client = try Client(documentsOnLoop: 10)
    client.handle(try (0..<10).map { try client.write("a/\($0)") })
    let execution = Answer<Result<QueryExecution, NSError>>()
    client.handle([
      client.request(
        .explain(HearthModel.Query(path: try ResourcePath(parsing: "a"))) { execution.set($0) })
    ])
    #expect(try execution.value?.get().resultCount == 10)
  }

  @Test("a client that ends closes what is read in the background")
  func closes() throws {
    let client = try Client(documentsOnLoop: 0)
    client.handle(try (0..<20).map { try client.write("a/\($0)") })
    let end = Answer<NSError?>()
    client.handle([
      client.request(
        .explain(HearthModel.Query(path: try ResourcePath(parsing: "a"))) {
          if case .failure(let error) = $0 { end.set(error) }
        }), .stop { _ in },
    ])
    #expect(end.value??.code == FirestoreErrorCode.cancelled.rawValue)
  }
}
