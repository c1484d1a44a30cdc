import HearthCache
import HearthModel
import HearthStore
import Testing

@testable import HearthSync

/// Two processes of one cache: one that listens and holds the lease, and another that writes.
struct ConflictProcesses {
  let cache: SharedCache
  let primary: SharedTestClient
  let writer: SharedTestClient
  let target: TargetID
  private let stopped: Database

  init(_ policy: ConflictPolicy, having documents: [Document]) throws {
    let rules = ConflictRules([ConflictRule(.collection(ResourcePath(["rooms"])), policy)])
    cache = try SharedCache()
    primary = try cache.client("a", busyTimeout: .milliseconds(20), conflictRules: rules)
    writer = try cache.client("b", busyTimeout: .milliseconds(20), conflictRules: rules)
    stopped = try Database(.file(path: cache.file))
    primary.listen(rooms)
    cache.deliver()
    target = try #require(primary.watched.first)
    if !documents.isEmpty { try primary.fill(target, documents, at: 4) }
    cache.deliver()
  }

  /// Makes writes, perhaps while the file is locked.
  func whileLocked(_ isLocked: Bool, _ body: () -> Void) throws {
    if isLocked { try stopped.execute("BEGIN IMMEDIATE") }
    body()
    if isLocked { try stopped.execute("ROLLBACK") }
  }

  /// Everything that waits is stored.
  func store() {
    cache.wait(60)
    #expect(writer.engine.heldWriteIDs.isEmpty)
  }

  /// The documents that are written by what was sent.
  var sentKeys: [DocumentKey] { primary.sentBatches.flatMap { $0 }.map(\.key) }
}

// MARK: - The backend

extension ConflictProcesses {
  /// Lets a backend with these documents answer everything, until nothing is asked or sent.
  ///
  /// - Returns: The documents in the end.
  func answerAll(from documents: [Document]) throws -> [DocumentKey: Document] {
    var backend = Dictionary(uniqueKeysWithValues: documents.map { ($0.key, $0) })
    for time in Int64(10)..<60 {
      cache.wait(2)
      if let lookUp = primary.lookUps.last {
        let asked = try #require(lookUp.keys.first)
        try primary.answerLookUp(backend[asked] ?? .missing(asked, version: version(time), readTime: version(time)))
      } else if let batch = primary.sentBatches.first {
        let isRefused = batch.contains { mutation in
          switch mutation.precondition {
          case .updateTime(let expected): backend[mutation.key]?.version != expected
          case .exists(let exists): (backend[mutation.key] != nil) != exists
          case .none: false
          }
        }
        guard !isRefused else {
          try primary.breakWriteStream(StatusError(code: .failedPrecondition, message: "other version"))
          continue
        }
        for mutation in batch {
          let edit = try DocumentEdit(
            [mutation], on: backend[mutation.key] ?? .missing(mutation.key, version: version(1)))
          backend[mutation.key] = edit.fields.map { found(mutation.key.canonicalString, time, $0) }
        }
        try primary.commit(at: time)
      }
    }
    #expect(primary.sentBatches.isEmpty && primary.lookUps.isEmpty)
    return backend
  }

  /// The names of the fields of all documents.
  func names(in backend: [DocumentKey: Document]) throws -> Set<String> {
    Set(try backend.values.flatMap { try $0.fields.decoded().entries.map(\.key) })
  }
}
