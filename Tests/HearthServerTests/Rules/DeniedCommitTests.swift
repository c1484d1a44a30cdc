import HearthModel
import HearthRules
import Testing

@testable import HearthServer

/// Reads that a commit makes before its rules deny it.
@Suite("Reads of denied commits", .timeLimit(.minutes(1)))
struct DeniedCommitTests {
  /// Documents as they are before a request, and the names of those whose fields were read.
  private final class Reads {
    let documents: [DocumentKey: Document]
    private(set) var contents: [DocumentKey] = []

    init(_ documents: [DocumentKey: MapValue]) {
      self.documents = documents.reduce(into: [:]) { documents, entry in
        documents[entry.key] = .found(
          entry.key, version: SnapshotVersion(microseconds: 5), fields: EncodedFields(entry.value))
      }
    }

    private func document(_ key: DocumentKey) -> Document { documents[key] ?? .missing(key, version: .none) }

    var reads: DocumentReads {
      DocumentReads(
        head: { key in
          let document = self.document(key)
          guard document.isFound else { return .init(document: document, isComplete: true) }
          return .init(document: .found(key, version: document.version, fields: .empty), isComplete: false)
        },
        document: { key in
          self.contents.append(key)
          return self.document(key)
        })
    }
  }

  private static let rules = """
    match /open/{id} { allow read, write; }
    match /owned/{id} { allow read, write: if resource.data.owner == 'alice'; }
    match /secret/{id} { allow write: if false; }
    match /pairs/{id} {
      allow write: if getAfter(/databases/(default)/documents/open/9).data.n == 1
        && existsAfter(/databases/(default)/documents/open/8);
    }
    match /listed/{id} { allow get; allow write: if resource.data.n == 100; }
    """

  private static func text(_ count: Int) -> Value { .string(String(repeating: "x", count: count)) }

  private func documents(_ collection: String, owner: String = "bob", count: Int = 10) -> [DocumentKey: MapValue] {
    (0..<count).reduce(into: [:]) {
      $0[key("\(collection)/\($1)")] = ["owner": .string(owner), "n": $1.value, "text": Self.text(10_000)]
    }
  }

  private func merge(_ path: String, _ precondition: Precondition = .none) -> Mutation {
    var mutation = Mutation.patch(key(path), ["n": 1.value], mask: FieldMask([field("n")]))
    mutation.precondition = precondition
    return mutation
  }

  /// - Returns: The status of a refusal; nil for a commit that is allowed.
  private func commit(
    _ mutations: [Mutation], _ reads: Reads, rewriting bytes: Int = 1 << 20, in batch: BatchEffort? = nil
  ) throws -> StatusCode? {
    let access = AccessRules(try RulesFixture.rules(Self.rules))
    var request = CommitRequest(mutations: mutations)
    let check = try access.check(.write(mutations), by: .named("alice"), in: ServerFixture.database)
    request.commitGuard = check?.of(batch)
    do {
      _ = try RequestEvaluation(
        request, in: ServerFixture.database, at: SnapshotVersion(microseconds: 10), maximumRewrittenBytes: bytes,
        metrics: nil
      ).evaluate(reads.reads)
      return nil
    } catch let error as StatusError {
      return error.code
    }
  }

  @Test("a commit whose first write is denied reads the document of that write at most")
  func first() throws {
    let reads = Reads(documents("owned"))
    #expect(try commit((0..<10).map { merge("owned/\($0)") }, reads) == .permissionDenied)
    #expect(reads.contents == [key("owned/0")])
    let others = Reads(documents("secret"))
    #expect(try commit((0..<10).map { merge("secret/\($0)") }, others) == .permissionDenied)
    #expect(try commit((0..<10).map { .delete(key("secret/\($0)")) }, others) == .permissionDenied)
    #expect(others.contents.isEmpty)
  }

  @Test("of the writes before the denied one, those documents are read that rules look at")
  func permitted() throws {
    let owned = documents("owned", owner: "alice", count: 4).merging(documents("open")) { $1 }
    let reads = Reads(owned.merging(documents("secret")) { $1 })
    let writes = (0..<10).map { merge("open/\($0)") } + (0..<4).map { merge("owned/\($0)") }
    #expect(try commit(writes + (0..<10).map { merge("secret/\($0)") }, reads) == .permissionDenied)
    #expect(reads.contents == (0..<4).map { key("owned/\($0)") })
    let all = Reads(owned)
    #expect(try commit(writes, all) == nil)
    // Each once: also those that the rules have looked at.
    #expect(all.contents.count == 14 && Set(all.contents).count == 14)
  }

  @Test("the state after the request is made of the documents alone that a rule asks for")
  func after() throws {
    let reads = Reads(documents("open").merging(documents("pairs")) { $1 })
    let writes = (0..<10).map { merge("pairs/\($0)") } + (0..<9).map { merge("open/\($0)") }
    #expect(try commit(writes + [.set(key("open/9"), ["n": 2.value])], reads) == .permissionDenied)
    // The decision names both at once.
    #expect(Set(reads.contents) == [key("open/8"), key("open/9")] && reads.contents.count == 2)
    #expect(try commit(writes + [.set(key("open/9"), ["n": 1.value])], reads) == nil)
  }

  @Test("a condition of a denied commit that fails is told to those who may read, and no document is read for that")
  func conditions() throws {
    var all = documents("open").merging(documents("secret")) { $1 }
    all.merge(documents("listed")) { $1 }
    let reads = Reads(all)
    let writes = (0..<10).map { merge("listed/\($0)") }
    #expect(try commit(writes, reads) == .permissionDenied)
    #expect(reads.contents == [key("listed/0")])
    #expect(try commit(writes.dropLast() + [merge("listed/9", .exists(false))], reads) == .alreadyExists)
    #expect(try commit(writes + [merge("listed/none", .exists(true))], reads) == .notFound)
    let old = SnapshotVersion(microseconds: 4)
    #expect(try commit(writes.dropLast() + [merge("listed/9", .updateTime(old))], reads) == .failedPrecondition)
    #expect(reads.contents == Array(repeating: key("listed/0"), count: 4))
    // Behind one that may not be read.
    let behind = [merge("secret/0")] + writes.dropLast() + [merge("listed/9", .exists(false))]
    #expect(try commit(behind, reads) == .permissionDenied)
    #expect(reads.contents.count == 4)
  }

  @Test("whether the caller may read is asked until the first denial")
  func reading() throws {
    let mine = documents("owned", owner: "alice", count: 3)
    let reads = Reads(documents("owned").merging(mine) { $1 }.merging(documents("secret")) { $1 })
    let writes = [merge("secret/0")] + (0..<9).map { merge("owned/\($0)") } + [merge("owned/9", .exists(false))]
    #expect(try commit(writes, reads) == .permissionDenied)
    #expect(reads.contents == (0...3).map { key("owned/\($0)") })
  }

  @Test("who may write all is told that too much would be rewritten, as is who may read what was looked at")
  func excess() throws {
    let mine = Reads(documents("owned", owner: "alice"))
    let writes = (0..<10).map { merge("owned/\($0)") }
    #expect(try commit(writes, mine, rewriting: 1 << 20) == nil)
    #expect(try commit(writes, mine, rewriting: 100_000) == .invalidArgument)
    let open = Reads(documents("open"))
    #expect(try commit((0..<10).map { merge("open/\($0)") }, open, rewriting: 100_000) == .invalidArgument)
    let pairs = Reads(documents("pairs").merging(documents("open")) { $1 })
    let all = [Mutation.set(key("open/9"), ["n": 1.value])] + (0..<10).map { merge("pairs/\($0)") }
    #expect(try commit(all, pairs, rewriting: 100_000) == .permissionDenied)
  }

  @Test("what was read for the denied writes of a BatchWrite decides about no other write of it")
  func batch() throws {
    let reads = Reads(documents("owned").merging(documents("pairs", owner: "alice")) { $1 })
    let batch = BatchEffort()
    batch.noteAllowed(RuleEffort.maximum - 25_000)
    for index in 0..<10 {
      #expect(try commit([merge("owned/\(index)")], reads, in: batch) == .permissionDenied)
    }
    #expect(reads.contents.count == 10)
    #expect(try commit([.set(key("open/none"), ["n": 1.value])], reads, in: batch) == nil)
  }

  @Test("after 500 denied writes of a BatchWrite the others are denied unread")
  func deniedBatch() throws {
    let reads = Reads(documents("owned"))
    let batch = BatchEffort()
    for index in 0..<BatchEffort.maximumDenials + 10 {
      #expect(try commit([merge("owned/\(index % 10)")], reads, in: batch) == .permissionDenied)
    }
    #expect(reads.contents.count == BatchEffort.maximumDenials)
    #expect(try commit([.set(key("open/none"), ["n": 1.value])], reads, in: batch) == .permissionDenied)
  }
}
