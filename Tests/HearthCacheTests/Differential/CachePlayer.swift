import HearthModel
import HearthStore
import TestSupport

@testable import HearthCache

/// Plays steps on a cache and on a plain model of it.
final class CachePlayer {
  let cache: TestCache
  private(set) var naive = NaiveCache()
  /// The targets that were confirmed once, by their ids.
  private(set) var targets: [Target: TargetID] = [:]
  private var clock: Int64 = 1_000
  private var lastListen: Int64 = 0

  init(_ backing: Backing) throws {
    cache = try TestCache(backing)
  }

  func play(_ step: CacheStep) throws {
    clock += 10
    switch step {
    case .receive(let documents): try receive(documents)
    case .write(let mutations): try write(mutations)
    case .acknowledge: try acknowledge()
    case .reject: try reject()
    case .changeUser(let user):
      naive.user = user
      _ = try cache.store.changeUser(user)
    case .reopen: try cache.restart(user: naive.user)
    case .listen(let query): try listen(query)
    case .setIndexes(let definitions): try cache.store.setIndexes(definitions)
    case .deleteAllIndexes: try cache.store.deleteAllIndexes()
    case .fillIndexes(let steps, let documents):
      for _ in 0..<steps where try !cache.store.advanceIndexFill(.init(documents: documents)) { break }
    }
  }

  /// Checks the rules of all rows.
  func checkInvariants() throws {
    if let violation = try CacheInvariants.violations(in: cache.store).first {
      throw BrokenInvariant(violation: violation)
    }
  }

  private struct BrokenInvariant: Error, CustomStringConvertible {
    var violation: RowViolation
    var description: String { "\(violation)" }
  }

  /// The documents that the user sees by the model alone: those that exist.
  func view() throws -> DocumentMap {
    let keys = naive.queue.reduce(into: Set(naive.remote.keys)) { $0.formUnion($1.keys) }
    var view: DocumentMap = [:]
    for key in keys {
      let document = try naive.localView(of: key)
      if document.isFound { view[key] = document }
    }
    return view
  }

  private func receive(_ documents: [CacheStep.Received]) throws {
    var event = RemoteEvent(snapshotVersion: version(clock))
    for document in documents {
      // The backend has confirmed results with the contents of before, so a change that is news came after that.
      let at = version(max(clock - document.age, lastListen + 1))
      event.documentUpdates[document.key] =
        document.fields.map { .found(document.key, version: at, fields: EncodedFields($0)) }
        ?? .missing(document.key, version: at)
    }
    _ = try cache.store.apply(event)
    try naive.apply(event)
  }

  private func write(_ mutations: [Mutation]) throws {
    let batchID = try cache.store.write(mutations, localWriteTime: time(clock)).batchID
    // With the base values that the cache has added.
    guard let batch = try cache.store.nextMutationBatch(after: batchID - 1) else {
      throw CacheError.unknownBatch(batchID, user: naive.user)
    }
    naive.queue.append(batch)
  }

  private func acknowledge() throws {
    guard let batch = naive.queue.first else { return }
    let results = batch.mutations.map { mutation in
      MutationResult(
        version: version(clock),
        transformResults: mutation.transforms.map { transform in
          switch transform.operation {
          case .increment: .integer(clock % 7)
          case .serverTimestamp: .timestamp(time(clock))
          default: .null
          }
        })
    }
    let result = MutationBatchResult(
      batch: batch, commitVersion: version(clock), results: results)
    _ = try cache.store.acknowledge(result)
    try naive.acknowledge(result)
  }

  private func reject() throws {
    guard let batch = naive.queue.first else { return }
    naive.queue.removeFirst()
    naive.forgetKept(batch)
    _ = try cache.store.reject(batch)
  }

  private func listen(_ query: Query) throws {
    lastListen = clock
    let targetID = try cache.store.allocateTarget(query.target).targetID
    targets[query.target] = targetID
    var event = RemoteEvent(snapshotVersion: version(clock))
    // The contents of a blind write are known at the latest when a query that may hold the document is confirmed.
    for (key, document) in naive.remote where document.kind == .foundWithUnknownContents {
      event.documentUpdates[key] = .missing(key, version: version(clock))
    }
    var after = naive
    try after.apply(event)
    let remote = try after.remote.values.filter(\.isFound)
      .map { NaiveDocument(key: $0.key, fields: try $0.fields.decoded()) }
    let confirmed = Set(NaiveQuery(query).answer(remote))
    let known = naive.targetKeys[targetID] ?? []
    event.targetChanges[targetID] = TargetChange(
      resumeToken: [UInt8]("\(clock)".utf8), isCurrent: true, added: confirmed.subtracting(known),
      removed: known.subtracting(confirmed))
    _ = try cache.store.apply(event)
    try naive.apply(event)
    try cache.store.notifyLocalViewChanges([LocalViewChanges(targetID: targetID, isFromCache: false)])
    if clock % 20 == 0 { try cache.store.releaseTarget(targetID) }
  }
}
