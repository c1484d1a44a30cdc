import HearthModel
import Testing

private let k = key("c/a")

@Suite("Overlays and batches")
struct MutationBatchTests {
  /// Applies the batches one after the other to `base`.
  private func view(
    of base: Document, with batches: [MutationBatch]
  ) throws -> (document: Document, mask: FieldMask?) {
    var document = base
    var mask: FieldMask? = .empty
    for batch in batches { mask = try batch.applyToLocalView(&document, mutatedFields: mask) }
    return (document, mask)
  }

  private func applying(_ overlay: Mutation?, to base: Document) throws -> Document {
    var document = base
    _ = try overlay?.applyToLocalView(
      &document, previousMask: nil, localWriteTime: Timestamp(seconds: 0, nanoseconds: 0))
    return document
  }

  @Test("an overlay shows what its batches show", arguments: 0..<1500)
  func overlayEqualsBatches(seed: Int) throws {
    var generator = ModelGenerator(seed: seed)
    let bases: [Document] = [
      .unknown(k), .missing(k, version: version(4)),
      .found(k, version: version(5), fields: EncodedFields(generator.map())),
    ]
    let batches = (1...4).map { generator.batch(BatchID($0), of: k) }
    for base in bases {
      let (document, mask) = try view(of: base, with: batches)
      let overlay = try Mutation.overlay(for: document, changedFields: mask)
      #expect(overlay.map { $0.precondition == Precondition.none } ?? true)
      #expect(overlay?.transforms.isEmpty ?? true)
      #expect(try applying(overlay, to: base) == document, "base \(base), batches \(batches)")
    }
  }

  @Test("the overlay of replaced, deleted, patched and untouched documents")
  func overlayKinds() throws {
    var document = found("c/a", ["a": .integer(1)])
    #expect(try Mutation.overlay(for: document, changedFields: .empty) == nil)
    document.mutationState = .hasLocalMutations
    #expect(try Mutation.overlay(for: document, changedFields: nil) == .set(k, ["a": .integer(1)]))
    #expect(
      try Mutation.overlay(for: document, changedFields: mask("a", "b"))
        == .patch(k, ["a": .integer(1)], mask: mask("a", "b"), precondition: .none))
    let deleted = try view(of: document, with: [batch(.delete(k))]).document
    #expect(try Mutation.overlay(for: deleted, changedFields: nil) == .delete(k))
  }

  @Test("a nested field that was set and deleted again leaves its parent in the overlay")
  func emptiedParent() throws {
    let batches = [
      batch(.patch(k, ["foo": .map(["bar": .integer(1)])], mask: mask("foo.bar"))),
      batch(.patch(k, [:], mask: mask("foo.bar"))),
    ]
    let (document, changed) = try view(of: found("c/a", [:]), with: batches)
    #expect(document.values == ["foo": .map([:])])
    let overlay = try Mutation.overlay(for: document, changedFields: changed)
    #expect(overlay == .patch(k, ["foo": .map([:])], mask: mask("foo"), precondition: .none))
  }

  @Test("an empty merge of a missing document is in the overlay")
  func emptyMerge() throws {
    let base = Document.missing(k, version: version(1))
    let (document, changed) = try view(
      of: base, with: [batch(.patch(k, [:], mask: .empty, precondition: .none))])
    let overlay = try Mutation.overlay(for: document, changedFields: changed)
    #expect(try applying(overlay, to: base).isFound)
  }

  @Test("base values keep an increment from being counted twice")
  func baseValues() throws {
    let increment = Mutation.patch(
      k, ["s": .integer(1)], mask: mask("s", "own"),
      transforms: [
        transform("n", .increment(.integer(10))), transform("m.n", .increment(.integer(1))),
        transform("own", .increment(.integer(1))), transform("l", .arrayUnion([.null])),
      ])
    let atWriteTime = found("c/a", ["n": .integer(1), "own": .integer(5)])
    let values = try #require(try increment.baseValues(for: atWriteTime))
    #expect(values == ["n": .integer(1), "m": .map(["n": .integer(0)])])
    let base = Mutation.patch(k, values, mask: mask("n", "m.n"))
    let queued = MutationBatch(
      batchID: 1, localWriteTime: Timestamp(seconds: 1, nanoseconds: 0), baseMutations: [base],
      mutations: [increment])
    // The backend's next version already holds the increment.
    let newer = found("c/a", ["n": .integer(11), "m": .map(["n": .integer(1)])], version: 2)
    let shown = try view(of: newer, with: [queued]).document.values
    #expect(shown.value("n") == .integer(11))
    #expect(shown.value("m.n") == .integer(1))
  }

  @Test("nothing needs a base value in a set, or without increments")
  func noBaseValues() throws {
    let document = found("c/a", ["n": .integer(1)])
    let increment = transform("n", .increment(.integer(1)))
    #expect(try Mutation.set(k, [:], transforms: [increment]).baseValues(for: document) == nil)
    #expect(try Mutation.delete(k).baseValues(for: document) == nil)
    #expect(try Mutation.patch(k, [:], mask: mask("n")).baseValues(for: document) == nil)
  }

  @Test("a batch touches only the documents that it writes, in its order")
  func batchOrder() throws {
    let other = key("c/b")
    let writes = MutationBatch(
      batchID: 1, localWriteTime: Timestamp(seconds: 1, nanoseconds: 0),
      mutations: [
        .set(k, ["a": .integer(1)]), .set(other, ["a": .integer(2)]),
        .patch(k, ["b": .integer(3)], mask: mask("b")),
      ])
    #expect(writes.keys == [k, other])
    #expect(try view(of: .unknown(k), with: [writes]).document.values == ["a": .integer(1), "b": .integer(3)])
    #expect(try view(of: .unknown(other), with: [writes]).document.values == ["a": .integer(2)])
    #expect(try view(of: .unknown(key("c/c")), with: [writes]).document == .unknown(key("c/c")))

    let answer = MutationBatchResult(
      batch: writes, commitVersion: version(20),
      results: [MutationResult(version: version(20)), MutationResult(version: version(20))])
    #expect(answer.documentVersions == [k: version(20), other: version(20)])
    var document = Document.unknown(k)
    try writes.applyToRemoteDocument(&document, result: answer)
    #expect(document.values == ["a": .integer(1), "b": .integer(3)])
    #expect(document.version == version(20) && document.hasCommittedMutations)
  }

  private func batch(_ mutation: Mutation) -> MutationBatch {
    MutationBatch(
      batchID: 1, localWriteTime: Timestamp(seconds: 1, nanoseconds: 0), mutations: [mutation])
  }
}

@Suite("Documents, masks and preconditions")
struct DocumentTests {
  @Test("times of creation and reading do not make documents different")
  func equality() {
    let a = Document.found(k, version: version(1), createTime: version(1), readTime: version(2), fields: .empty)
    #expect(a == .found(k, version: version(1), fields: .empty))
    #expect(a != .found(k, version: version(2), fields: .empty))
    #expect(a != .found(key("c/b"), version: version(1), fields: .empty))
    #expect(a != .found(k, version: version(1), fields: EncodedFields(["a": .null])))
    #expect(a != .missing(k, version: version(1)))
    #expect(Document.missing(k, version: .none) != .unknown(k))
    var pending = a
    pending.mutationState = .hasLocalMutations
    #expect(pending != a && pending.hasPendingWrites && !a.hasPendingWrites)
  }

  @Test("integers and doubles, and the two zeros, are different contents")
  func valueEquality() {
    #expect(found("c/a", ["a": .integer(1)]) != found("c/a", ["a": .double(1)]))
    #expect(found("c/a", ["a": .double(0)]) != found("c/a", ["a": .double(-0.0)]))
    #expect(found("c/a", ["a": .double(.nan)]) == found("c/a", ["a": .double(-.nan)]))
  }

  @Test("a mask is sorted, has no duplicates and covers what lies below its paths")
  func fieldMask() {
    let fields = FieldMask(["b", "a.b", "b", "a"].map(field))
    #expect(fields.paths == ["a", "a.b", "b"].map(field))
    #expect(fields == mask("a", "a.b", "b"))
    #expect(fields.covers(field("b.c.d")) && fields.covers(field("b")))
    #expect(!mask("a.b").covers(field("a")) && !mask("a.b").covers(field("a.bc")))
    #expect(FieldMask.empty.isEmpty && !FieldMask.empty.covers(field("a")))
    #expect(mask("a").union(mask("b")) == mask("a", "b"))
  }

  @Test("preconditions on every kind of document")
  func preconditions() {
    let existing = found("c/a", [:], version: 5)
    let absent: [Document] = [
      .unknown(k), .missing(k, version: version(5)), .foundWithUnknownContents(k, version: version(5)),
    ]
    for document in absent + [existing] { #expect(Precondition.none.isSatisfied(by: document)) }
    #expect(Precondition.exists(true).isSatisfied(by: existing))
    #expect(!Precondition.exists(false).isSatisfied(by: existing))
    #expect(Precondition.updateTime(version(5)).isSatisfied(by: existing))
    #expect(!Precondition.updateTime(version(4)).isSatisfied(by: existing))
    for document in absent {
      #expect(!Precondition.exists(true).isSatisfied(by: document))
      #expect(Precondition.exists(false).isSatisfied(by: document))
      #expect(!Precondition.updateTime(version(5)).isSatisfied(by: document))
    }
  }

  @Test("the parts of a batch and of its answer do to each document what the whole does", arguments: 0..<60)
  func parts(seed: Int) throws {
    var generator = ModelGenerator(seed: seed)
    let batch = MutationBatch(
      batchID: 1, localWriteTime: Timestamp(seconds: 5, nanoseconds: 0),
      baseMutations: generator.some(0..<3) { Self.anyMutation(&$0) },
      mutations: generator.some(1..<12) { Self.anyMutation(&$0) })
    // An answer may hold fewer results than the batch has mutations.
    let results = (0..<generator.below(batch.mutations.count + 1)).map {
      MutationResult(version: version(Int64(20 + $0)))
    }
    let answer = MutationBatchResult(batch: batch, commitVersion: version(50), results: results)
    #expect(Set(batch.parts.filter { !$0.value.mutations.isEmpty }.keys) == batch.keys)
    for (key, part) in answer.parts {
      #expect(part.batch == batch.parts[key])
      var base = generator.document()
      base.key = key
      var whole = base
      var single = base
      let mask = try batch.applyToLocalView(&whole, mutatedFields: .empty)
      #expect(try part.batch.applyToLocalView(&single, mutatedFields: .empty) == mask)
      #expect(single == whole)
      whole = base
      single = base
      try batch.applyToRemoteDocument(&whole, result: answer)
      try part.batch.applyToRemoteDocument(&single, result: part)
      #expect(single == whole, "seed \(seed), \(key)")
    }
  }

  private static func anyMutation(_ generator: inout ModelGenerator) -> Mutation {
    let key = generator.documentKey()
    return generator.mutation(of: key)
  }
}
