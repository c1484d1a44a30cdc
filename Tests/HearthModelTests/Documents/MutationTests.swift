import HearthModel
import Testing

private let now = Timestamp(seconds: 50, nanoseconds: 0)
private let k = key("c/a")

private func local(
  _ mutation: Mutation, on document: Document, previousMask: FieldMask? = .empty
) throws -> (document: Document, mask: FieldMask?) {
  var document = document
  let mask = try mutation.applyToLocalView(&document, previousMask: previousMask, localWriteTime: now)
  return (document, mask)
}

private func acknowledged(
  _ mutation: Mutation, on document: Document, version microseconds: Int64 = 9, results: [Value] = []
) throws -> Document {
  var document = document
  try mutation.applyToRemoteDocument(
    &document, result: MutationResult(version: version(microseconds), transformResults: results))
  return document
}

@Suite("Mutations in the local view")
struct LocalViewTests {
  @Test("a set replaces the document, which then has no version")
  func set() throws {
    let result = try local(.set(k, ["b": .integer(2)]), on: found("c/a", ["a": .integer(1)]))
    #expect(result.mask == nil)
    #expect(result.document.isFound)
    #expect(result.document.hasLocalMutations)
    #expect(result.document.version == .none)
    #expect(result.document.values == ["b": .integer(2)])
  }

  @Test("a set creates what is unknown or missing", arguments: [Document.unknown(k), .missing(k, version: version(3))])
  func setCreates(base: Document) throws {
    let result = try local(.set(k, [:]), on: base)
    #expect(result.document.isFound)
    #expect(result.document.values == [:])
  }

  @Test("a patch takes what its mask names, deletes what the data lack and keeps the rest")
  func patch() throws {
    let base = found("c/a", ["a": .integer(1), "m": .map(["x": .integer(1), "y": .integer(2)]), "z": .integer(3)])
    let mutation = Mutation.patch(
      k, ["a": .integer(9), "m": .map(["x": .integer(8)]), "ignored": .null], mask: mask("a", "m.x", "m.y", "n.o"))
    let result = try local(mutation, on: base)
    #expect(result.document.values == ["a": .integer(9), "m": .map(["x": .integer(8)]), "z": .integer(3)])
    #expect(result.mask == mask("a", "m.x", "m.y", "n.o"))
  }

  @Test("a patch of a nested field turns a scalar on its way into a map")
  func patchThroughScalar() throws {
    let result = try local(
      .patch(k, ["a": .map(["b": .integer(1)])], mask: mask("a.b")), on: found("c/a", ["a": .integer(1)]))
    #expect(result.document.values == ["a": .map(["b": .integer(1)])])
  }

  @Test("a patch that demands an existing document leaves an unknown or missing one alone")
  func failingPrecondition() throws {
    let patch = Mutation.patch(k, ["a": .integer(1)], mask: mask("a"))
    for base in [Document.unknown(k), .missing(k, version: version(3))] {
      let result = try local(patch, on: base, previousMask: mask("q"))
      #expect(result.document == base)
      #expect(result.mask == mask("q"))
    }
  }

  @Test("a merge creates the document, even with nothing to merge")
  func merge() throws {
    let merged = try local(.patch(k, ["a": .null], mask: mask("a"), precondition: .none), on: .unknown(k))
    #expect(merged.document.values == ["a": .null])
    let empty = try local(.patch(k, [:], mask: .empty, precondition: .none), on: .missing(k, version: version(1)))
    #expect(empty.document.isFound)
    #expect(empty.document.values == [:])
  }

  @Test("a delete leaves a missing document")
  func delete() throws {
    let result = try local(.delete(k), on: found("c/a", ["a": .null]))
    #expect(result.document.isMissing)
    #expect(result.document.hasLocalMutations)
    #expect(result.document.version == .none)
    #expect(result.document.fields == .empty)
    #expect(result.mask == nil)
  }

  @Test("a verify changes nothing")
  func verify() throws {
    let base = found("c/a", ["a": .null])
    let result = try local(
      Mutation(key: k, operation: .verify, precondition: .exists(true)), on: base, previousMask: mask("a"))
    #expect(result.document == base)
    #expect(result.mask == mask("a"))
  }

  @Test("the mask gathers the fields of patches and transforms, and stays whole after a set")
  func masks() throws {
    let patch = Mutation.patch(k, [:], mask: mask("b"), transforms: [transform("n", .increment(.integer(1)))])
    #expect(try local(patch, on: found("c/a", [:]), previousMask: mask("a")).mask == mask("a", "b", "n"))
    #expect(try local(patch, on: found("c/a", [:]), previousMask: nil).mask == nil)
  }

  @Test("transforms follow the mutation's own data")
  func transformsAfterData() throws {
    let base = found("c/a", ["n": .integer(10), "t": .integer(42)])
    let set = Mutation.set(
      k, ["m": .integer(1)],
      transforms: [
        transform("n", .increment(.integer(5))), transform("m", .increment(.integer(1))),
        transform("m", .increment(.integer(1))),
      ])
    #expect(try local(set, on: base).document.values == ["n": .integer(5), "m": .integer(3)])
    let patch = Mutation.patch(k, [:], mask: .empty, transforms: [transform("n", .increment(.integer(5)))])
    #expect(try local(patch, on: base).document.values == ["n": .integer(15), "t": .integer(42)])
  }

  @Test("a pending server timestamp remembers what the user saw before, also under a set")
  func serverTimestamps() throws {
    let base = found("c/a", ["t": .integer(42)])
    let pending = Value.pendingServerTimestamp(localWriteTime: now, previousValue: .integer(42))
    let set = Mutation.set(k, [:], transforms: [transform("t", .serverTimestamp)])
    let shown = try local(set, on: base).document
    #expect(shown.values == ["t": pending])
    #expect(try local(set, on: shown).document.values == ["t": pending])
    let increment = Mutation.patch(k, [:], mask: .empty, transforms: [transform("t", .increment(.integer(1)))])
    #expect(try local(increment, on: shown).document.values == ["t": .integer(1)])
  }

  @Test("malformed stored fields are an error, not a crash")
  func malformed() {
    let broken = Document.found(k, version: version(1), fields: EncodedFields(uncheckedBytes: [0x12, 0x7F, 0x01]))
    #expect(throws: WireFormatError.self) { try local(.patch(k, ["a": .null], mask: mask("a")), on: broken) }
    #expect(!Query(path: path("c")).with(filter: .field(field("a"), .equal, .null)).matches(broken))
  }
}

@Suite("Acknowledged mutations")
struct AcknowledgedMutationTests {
  @Test("a set is committed at the version of the result")
  func set() throws {
    let result = try acknowledged(.set(k, ["b": .null]), on: .unknown(k))
    #expect(result.isFound)
    #expect(result.hasCommittedMutations)
    #expect(result.version == version(9))
    #expect(result.values == ["b": .null])
  }

  @Test("a patch of a document that is not here leaves contents unknown at that version")
  func unknownContents() throws {
    for base in [Document.unknown(k), .missing(k, version: version(1))] {
      let result = try acknowledged(.patch(k, ["b": .null], mask: mask("b")), on: base)
      #expect(result == .foundWithUnknownContents(k, version: version(9)))
      #expect(result.hasCommittedMutations)
      #expect(!result.isFound && !result.isMissing && !result.isUnknown)
    }
  }

  @Test("a delete is a missing document at that version")
  func delete() throws {
    let result = try acknowledged(.delete(k), on: found("c/a", ["a": .null]))
    #expect(result.isMissing && result.hasCommittedMutations)
    #expect(result.version == version(9))
  }

  @Test("transform results are the backend's, except for arrays")
  func transformResults() throws {
    let mutation = Mutation.patch(
      k, [:], mask: .empty,
      transforms: [
        transform("n", .increment(.integer(1))), transform("l", .arrayUnion([.integer(2)])),
        transform("t", .serverTimestamp),
      ])
    let stamp = Value.timestamp(Timestamp(seconds: 3, nanoseconds: 0))
    let result = try acknowledged(
      mutation, on: found("c/a", ["n": .integer(1), "l": .array([.integer(1)])]),
      results: [.integer(77), .null, stamp])
    #expect(result.values == ["n": .integer(77), "l": .array([.integer(1), .integer(2)]), "t": stamp])
  }

  @Test("an answer with too few results is completed from the cached document")
  func missingResults() throws {
    let mutation = Mutation.patch(
      k, [:], mask: .empty, transforms: [transform("n", .increment(.integer(1))), transform("t", .serverTimestamp)])
    let result = try acknowledged(mutation, on: found("c/a", ["n": .integer(1)]), version: 2_000_000)
    #expect(
      result.values == ["n": .integer(2), "t": .timestamp(Timestamp(seconds: 2, nanoseconds: 0))])
  }
}

@Suite("Mutations at the backend")
struct AuthoritativeMutationTests {
  private func commit(
    _ mutation: Mutation, on document: Document
  ) throws -> (document: Document, transformResults: [Value]) {
    try mutation.applied(
      to: document, commitTime: version(1000), requestTime: Timestamp(seconds: 4, nanoseconds: 123_456_789),
      resourceName: "projects/p/databases/d/documents/c/a")
  }

  private let name = "projects/p/databases/d/documents/c/a"

  @Test("an update keeps the time of creation, a create sets it")
  func times() throws {
    let base = Document.found(k, version: version(5), createTime: version(3), fields: .empty)
    let updated = try commit(.set(k, ["a": .null]), on: base).document
    #expect(updated.version == version(1000) && updated.createTime == version(3))
    #expect(updated.mutationState == .synced)
    let created = try commit(.set(k, ["a": .null]), on: .missing(k, version: version(5))).document
    #expect(created.version == version(1000) && created.createTime == version(1000))
    let deleted = try commit(.delete(k), on: base).document
    #expect(deleted == .missing(k, version: version(1000)))
    #expect(deleted.createTime == .none)
  }

  @Test("server timestamps have milliseconds, results of arrays are null")
  func results() throws {
    let mutation = Mutation.patch(
      k, [:], mask: .empty, precondition: .none,
      transforms: [
        transform("t", .serverTimestamp), transform("n", .increment(.integer(2))),
        transform("l", .arrayUnion([.null])), transform("r", .arrayRemove([.null])),
        transform("lo", .minimum(.integer(2))), transform("hi", .maximum(.double(2))),
      ])
    let outcome = try commit(mutation, on: .missing(k, version: version(5)))
    let stamp = Value.timestamp(Timestamp(seconds: 4, nanoseconds: 123_000_000))
    #expect(outcome.transformResults == [stamp, .integer(2), .null, .null, .integer(2), .double(2)])
    #expect(
      outcome.document.values == [
        "t": stamp, "n": .integer(2), "l": .array([.null]), "r": .array([]), "lo": .integer(2), "hi": .double(2),
      ])
  }

  @Test("preconditions that do not hold are errors with production's texts")
  func preconditions() throws {
    let base = found("c/a", [:], version: 5)
    #expect(throws: StatusError(code: .notFound, message: "No document to update: \(name)")) {
      try commit(.patch(k, [:], mask: .empty), on: .unknown(k))
    }
    #expect(throws: StatusError(code: .alreadyExists, message: "Document already exists: \(name)")) {
      try commit(.set(k, [:], precondition: .exists(false)), on: base)
    }
    #expect(
      throws: StatusError(
        code: .failedPrecondition,
        message: "the stored version (5) does not match the required base version (6)")
    ) { try commit(.delete(k, precondition: .updateTime(version(6))), on: base) }
    #expect(
      throws: StatusError(
        code: .failedPrecondition,
        message: "the stored version (0) does not match the required base version (6)")
    ) {
      try commit(
        Mutation(key: k, operation: .verify, precondition: .updateTime(version(6))),
        on: .missing(k, version: version(6)))
    }
  }

  @Test("a verify whose precondition holds leaves the document as it is")
  func verify() throws {
    let base = found("c/a", ["a": .null], version: 5)
    let outcome = try commit(Mutation(key: k, operation: .verify, precondition: .updateTime(version(5))), on: base)
    #expect(outcome.document == base)
    #expect(outcome.transformResults == [])
  }

  @Test("a commit that changes nothing has the same contents, whatever the order of the entries")
  func sameContents() throws {
    let base = found("c/a", ["a": .integer(1), "b": .integer(2)])
    let same = try commit(.patch(k, ["a": .integer(1)], mask: mask("a")), on: base).document
    #expect(same.hasSameContents(as: base))
    let entries = [EncodedFields(["a": .integer(1)]).bytes, EncodedFields(["b": .integer(2)]).bytes]
    let swapped = Document.found(
      k, version: version(1), fields: EncodedFields(uncheckedBytes: entries[1] + entries[0]))
    #expect(swapped == base)
    let double = try commit(.patch(k, ["a": .double(1)], mask: mask("a")), on: base).document
    #expect(!double.hasSameContents(as: base))
  }
}
