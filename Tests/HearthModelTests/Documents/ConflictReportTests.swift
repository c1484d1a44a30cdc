import HearthModel
import Testing

/// Reports of a resolution: the changes that it has dropped.
@Suite("Reports of resolved conflicts")
struct ConflictReportTests {
  private let key = try! DocumentKey(ResourcePath(["todos", "a"]))
  private let time = Timestamp(seconds: 9, nanoseconds: 0)
  private let gone: Document

  init() {
    gone = .missing(key, version: SnapshotVersion(microseconds: 3))
  }

  private func found(_ fields: MapValue) -> Document {
    .found(key, version: SnapshotVersion(microseconds: 2), fields: EncodedFields(fields))
  }

  private func edit(_ fields: MapValue, _ paths: [String]..., transforms: [FieldTransform] = []) throws -> Mutation {
    .patch(key, fields, mask: FieldMask(try paths.map { try FieldPath($0) }), transforms: transforms)
  }

  private func report(
    _ mutations: [Mutation], base: Document, remote: Document, _ policy: ConflictPolicy
  ) throws -> ConflictReport? {
    let edit = try DocumentEdit(mutations, on: base)
    let resolution = try #require(try edit.resolved(by: policy, with: remote, copyName: "1", at: time))
    return try edit.report(of: resolution, isMerge: policy.merges && remote.isFound, over: remote, at: time)
  }

  private func field(
    _ path: String..., base: Value?, local: Value?, remote: Value?, kept: ConflictReport.Side?
  ) throws -> ConflictReport.Field {
    ConflictReport.Field(path: try FieldPath(path), base: base, local: local, remote: remote, kept: kept)
  }

  private func merge(prefersRemote: Bool = false) -> ConflictPolicy { .mergeFields(prefersRemote: prefersRemote) }

  @Test("of a field that both sides have changed the value that gives way is named", arguments: [false, true])
  func sameField(prefersRemote: Bool) throws {
    let found = try report(
      [edit(["a": .integer(2), "b": .integer(2)], ["a"], ["b"])],
      base: found(["a": .integer(1), "b": .integer(1), "c": .integer(1)]),
      remote: found(["a": .integer(3), "b": .integer(1), "c": .integer(3)]), merge(prefersRemote: prefersRemote))
    #expect(found?.ending == .merged)
    let expected = try field(
      "a", base: .integer(1), local: .integer(2), remote: .integer(3), kept: prefersRemote ? .remote : .local)
    #expect(found?.fields == [expected])
  }

  @Test("changes of different fields, also inside a map, drop nothing, and the merge is told")
  func differentFields() throws {
    let base: MapValue = ["m": .map(["x": .integer(1), "y": .integer(1)])]
    let found = try report(
      [edit(["m": .map(["x": .integer(2)])], ["m", "x"])], base: found(base),
      remote: found(["m": .map(["x": .integer(1), "y": .integer(3)])]), merge())
    #expect(found == ConflictReport(key: key, ending: .merged))
  }

  @Test("a field inside a map is named by its path")
  func nested() throws {
    let found = try report(
      [edit(["m": .map(["x": .integer(2)])], ["m", "x"])], base: found(["m": .map(["x": .integer(1)])]),
      remote: found(["m": .map(["x": .integer(3)])]), merge())
    let expected = try field("m", "x", base: .integer(1), local: .integer(2), remote: .integer(3), kept: .local)
    #expect(found?.fields == [expected])
  }

  @Test("two increments of one field that are carried over drop nothing")
  func increments() throws {
    let increment = FieldTransform(path: try FieldPath(["n"]), operation: .increment(.integer(1)))
    let found = try report(
      [edit([:], transforms: [increment]), edit([:], transforms: [increment])], base: found(["n": .integer(4)]),
      remote: found(["n": .integer(10)]), merge())
    #expect(found == ConflictReport(key: key, ending: .merged))
  }

  @Test(
    "a deletion that the application writes is that of the side that has deleted the document",
    arguments: [true, false])
  func writtenDeletion(isLocal: Bool) throws {
    let change = try edit(["a": .integer(2)], ["a"])
    let edit = try DocumentEdit([isLocal ? .delete(key) : change], on: found(["a": .integer(1)]))
    let report = try edit.report(
      of: .mutations([.delete(key)]), isMerge: true, over: isLocal ? found(["a": .integer(3)]) : gone, at: time)
    #expect(report?.ending == (isLocal ? .local : .remote))
  }

  @Test("transforms that are carried over drop nothing; those of an edit that is given up are dropped")
  func transforms() throws {
    let increment = FieldTransform(path: try FieldPath(["n"]), operation: .increment(.integer(2)))
    let union = FieldTransform(path: try FieldPath(["t"]), operation: .arrayUnion([.integer(2)]))
    let time = FieldTransform(path: try FieldPath(["at"]), operation: .serverTimestamp)
    let base = found(["n": .integer(1), "t": .array([.integer(1)])])
    let remote = found([
      "n": .integer(5), "t": .array([.integer(1), .integer(3)]),
      "at": .timestamp(Timestamp(seconds: 5, nanoseconds: 0)),
    ])
    let edits = [try edit([:], transforms: [increment, union, time])]
    #expect(try report(edits, base: base, remote: remote, merge()) == ConflictReport(key: key, ending: .merged))
    let dropped = try report(edits, base: base, remote: remote, .lastWriter(try FieldPath(["none"])))
    #expect(dropped?.ending == .remote)
    #expect(dropped?.fields.map(\.path.canonicalString) == ["at", "n", "t"])
    #expect(dropped?.fields.allSatisfy { $0.kept == .remote } == true)
  }

  @Test("a whole document that stays drops all that the other side has changed")
  func wholeDocument() throws {
    let found = try report(
      [.set(key, ["at": .integer(9), "a": .integer(2)])], base: found(["at": .integer(1), "a": .integer(1)]),
      remote: found(["at": .integer(5), "a": .integer(1), "b": .integer(3)]), .lastWriter(try FieldPath(["at"])))
    #expect(found?.ending == .local)
    let expected = [
      try field("at", base: .integer(1), local: .integer(9), remote: .integer(5), kept: .local),
      try field("b", base: nil, local: nil, remote: .integer(3), kept: .local),
    ]
    #expect(found?.fields == expected)
  }

  @Test("of an edit and a deletion the deletion is what is dropped")
  func deletions() throws {
    let base = found(["a": .integer(1)])
    let kept = try report([.delete(key)], base: base, remote: found(["a": .integer(2)]), merge())
    #expect(kept == ConflictReport(key: key, ending: .remote, isDeletedLocally: true))
    let edited = try report([edit(["a": .integer(2)], ["a"])], base: base, remote: gone, merge())
    #expect(edited == ConflictReport(key: key, ending: .local, isDeletedRemotely: true))
  }

  @Test("a copy drops nothing and is named")
  func copy() throws {
    let found = try report(
      [edit(["a": .integer(2)], ["a"])], base: found(["a": .integer(1)]), remote: found(["a": .integer(3)]), .keepBoth)
    let copy = try DocumentKey(ResourcePath(["todos", "a~1"]))
    #expect(found == ConflictReport(key: key, ending: .both(copy: copy)))
  }

  @Test("a value of the application's own drops both")
  func written() throws {
    let edit = try DocumentEdit([edit(["a": .integer(2)], ["a"])], on: found(["a": .integer(1)]))
    let found = try edit.report(
      of: .mutations([.set(key, ["a": .integer(23)])]), isMerge: true, over: found(["a": .integer(3)]), at: time)
    let expected = try field("a", base: .integer(1), local: .integer(2), remote: .integer(3), kept: nil)
    #expect(found?.ending == .merged && found?.fields == [expected])
  }

  @Test("where there is nothing to decide nothing is said")
  func nothing() throws {
    let base = found(["a": .integer(1)])
    let edit = try edit(["a": .integer(2)], ["a"])
    #expect(try report([edit], base: base, remote: found(["a": .integer(2)]), merge()) == nil)
    #expect(try report([edit], base: base, remote: base, merge()) == nil)
  }
}
