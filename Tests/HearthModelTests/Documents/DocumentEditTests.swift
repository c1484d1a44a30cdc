import HearthModel
import Testing

/// Edits that are carried over to another version of their document.
@Suite("Edits in conflict")
struct DocumentEditTests {
  private let key = try! DocumentKey(ResourcePath(["todos", "a"]))
  private let time = Timestamp(seconds: 9, nanoseconds: 0)

  private func found(_ fields: MapValue, _ version: Int64 = 1) -> Document {
    .found(key, version: SnapshotVersion(microseconds: version), fields: EncodedFields(fields))
  }

  private func mask(_ paths: [String]...) throws -> FieldMask { FieldMask(try paths.map { try FieldPath($0) }) }

  private func resolve(
    _ mutations: [Mutation], base: Document, remote: Document, _ policy: ConflictPolicy
  ) throws -> DocumentEdit.Resolution? {
    try DocumentEdit(mutations, on: base).resolved(by: policy, with: remote, copyName: "00000001", at: time)
  }

  /// The document after the resolution.
  private func result(
    _ mutations: [Mutation], base: Document, remote: Document, _ policy: ConflictPolicy
  ) throws -> MapValue? {
    switch try #require(try resolve(mutations, base: base, remote: remote, policy)) {
    case .isThere, .dropped, .copy: return try remote.isFound ? remote.fields.decoded() : nil
    case .mutations(let mutations):
      var document = remote
      for mutation in mutations where mutation.key == key {
        document =
          try mutation.applied(to: document, commitTime: SnapshotVersion(microseconds: 9), requestTime: time).document
      }
      return try document.isFound ? document.fields.decoded() : nil
    }
  }

  private let merge = ConflictPolicy.mergeFields(prefersRemote: false)

  @Test("a whole document that was written changes only the fields in which it differs from its base")
  func mergesWholeDocuments() throws {
    let base: MapValue = ["a": .integer(1), "b": .integer(1), "c": .integer(1), "m": .map(["x": .integer(1)])]
    let local: MapValue = ["a": .integer(2), "b": .integer(1), "m": .map(["x": .integer(1), "y": .integer(2)])]
    let remote: MapValue = [
      "a": .integer(1), "b": .integer(3), "c": .integer(1), "d": .integer(3), "m": .map(["x": .integer(3)]),
    ]
    let merged = try result([.set(key, local)], base: found(base), remote: found(remote, 2), merge)
    let expected: MapValue = [
      "a": .integer(2), "b": .integer(3), "d": .integer(3), "m": .map(["x": .integer(3), "y": .integer(2)]),
    ]
    #expect(merged == expected)
  }

  @Test("a vector is one value: it is not merged with a map, or with another vector", arguments: 0..<3)
  func vectors(number: Int) throws {
    let vector: Value = .map(["__type__": .string("__vector__"), "value": .array([.double(1)])])
    let other: Value = .map(["__type__": .string("__vector__"), "value": .array([.double(2)])])
    let map: Value = .map(["values": .integer(1)])
    let changed: Value = .map(["values": .integer(2)])
    let (base, local, remote) = [(map, vector, changed), (map, changed, vector), (map, vector, other)][number]
    let edit = Mutation.patch(key, ["v": local], mask: try mask(["v"]))
    for prefersRemote in [false, true] {
      let resolution = try resolve(
        [edit], base: found(["v": base]), remote: found(["v": remote], 2), .mergeFields(prefersRemote: prefersRemote))
      if prefersRemote {
        #expect(resolution == .dropped)
      } else if case .mutations(let mutations)? = resolution,
        case .patch(let fields, let mask)? = mutations.first?.operation
      {
        #expect(try mask == self.mask(["v"]) && fields.decoded() == ["v": local])
      } else {
        Issue.record("\(String(describing: resolution))")
      }
    }
  }

  @Test("where both sides have changed a field the rule says who stays", arguments: [false, true])
  func prefers(_ prefersRemote: Bool) throws {
    let merged = try result(
      [.patch(key, ["a": .integer(2), "b": .integer(2)], mask: mask(["a"], ["b"]))],
      base: found(["a": .integer(1), "b": .integer(1)]), remote: found(["a": .integer(3), "b": .integer(1)], 2),
      .mergeFields(prefersRemote: prefersRemote))
    #expect(merged == ["a": .integer(prefersRemote ? 3 : 2), "b": .integer(2)])
  }

  @Test("transforms are carried over, also behind other mutations of the document")
  func transforms() throws {
    let increment = FieldTransform(path: try FieldPath(["n"]), operation: .increment(.integer(2)))
    let merged = try result(
      [
        .patch(key, ["t": .string("x")], mask: mask(["t"]), transforms: [increment]),
        .patch(key, ["u": .string("y")], mask: mask(["u"]), transforms: [increment]),
      ], base: found(["n": .integer(1)]), remote: found(["n": .integer(5)], 2), merge)
    #expect(merged == ["n": .integer(9), "t": .string("x"), "u": .string("y")])
    // A later write of the field ends the increments before it.
    let replaced = try result(
      [
        .patch(key, [:], mask: .empty, transforms: [increment]),
        .patch(key, ["n": .integer(7)], mask: mask(["n"])),
      ], base: found(["n": .integer(1)]), remote: found(["n": .integer(5)], 2), merge)
    #expect(replaced == ["n": .integer(7)])
  }

  /// Values that the other side has put in the place of the field of a transform, or of a map around it.
  private static let replacements: [(path: [String], base: MapValue, remote: MapValue)] = [
    (["m", "n"], ["m": .map(["n": .integer(1)])], ["m": .string("theirs")]),
    (["m", "n"], ["m": .map(["n": .integer(1)])], [:]),
    (["m", "k", "n"], ["m": .map(["k": .map([:])])], ["m": .map(["k": .null])]),
    (["m", "k", "n"], ["m": .map(["k": .map([:])])], ["m": .map([:])]),
    (["m", "n"], [:], ["m": .integer(5)]),
    (["n"], ["n": .integer(1)], ["n": .string("theirs")]),
    (["n"], ["n": .integer(1)], [:]),
  ]

  @Test(
    "a transform gives way to a value that the preferred remote side has put in the place of its field, or of a map around it",
    arguments: 0..<replacements.count)
  func transformsGiveWay(number: Int) throws {
    let (path, base, remote) = Self.replacements[number]
    let rest: MapValue = ["other": .integer(1)]
    for operation in [TransformOperation.increment(.integer(2)), .arrayUnion([.integer(2)])] {
      let transform = FieldTransform(path: try FieldPath(path), operation: operation)
      let edit = Mutation.patch(key, [:], mask: .empty, transforms: [transform])
      let theirs = found(remote, 2)
      let remoteStays = ConflictPolicy.mergeFields(prefersRemote: true)
      #expect(try resolve([edit], base: found(base), remote: theirs, remoteStays) == .dropped)
      let report = try DocumentEdit([edit], on: found(base)).report(of: .dropped, isMerge: true, over: theirs, at: time)
      #expect(report?.fields.map(\.kept) == [.remote])
      // What else the edit changes stays.
      let both = Mutation.patch(key, rest, mask: try mask(["other"]), transforms: [transform])
      var merged = remote
      merged["other"] = .integer(1)
      #expect(try result([both], base: found(base), remote: theirs, remoteStays) == merged)
      let local = try result([edit], base: found(base), remote: theirs, merge)
      #expect(local?[transform.path] == operation.applied(to: remote[transform.path], time: time))
    }
  }

  @Test("a transform is carried over to what it combines with, whichever side is preferred", arguments: [false, true])
  func transformsCombine(_ prefersRemote: Bool) throws {
    let base: MapValue = ["m": .map(["n": .integer(1), "a": .array([]), "at": .null]), "s": .string("same")]
    let remote: MapValue = [
      "m": .map(["n": .double(5), "a": .array([.integer(1)]), "at": .string("x")]), "s": .string("same"),
    ]
    let transforms = [
      FieldTransform(path: try FieldPath(["m", "n"]), operation: .increment(.integer(2))),
      FieldTransform(path: try FieldPath(["m", "a"]), operation: .arrayUnion([.integer(2)])),
      FieldTransform(path: try FieldPath(["m", "at"]), operation: .serverTimestamp),
      // The remote side has not touched it.
      FieldTransform(path: try FieldPath(["s", "n"]), operation: .increment(.integer(1))),
    ]
    let merged = try result(
      [.patch(key, [:], mask: .empty, transforms: transforms)], base: found(base), remote: found(remote, 2),
      .mergeFields(prefersRemote: prefersRemote))
    #expect(
      merged == [
        "m": .map(["n": .double(7), "a": .array([.integer(1), .integer(2)]), "at": .timestamp(time)]),
        "s": .map(["n": .integer(1)]),
      ])
  }

  @Test("an edit is worth more than a deletion")
  func deletions() throws {
    let (base, remote) = (found(["a": .integer(1)]), found(["a": .integer(2)], 2))
    let gone = Document.missing(key, version: SnapshotVersion(microseconds: 3))
    for policy in [merge, .keepBoth] {
      #expect(try resolve([.delete(key)], base: base, remote: remote, policy) == .dropped)
      // Nobody has changed the document, only its version.
      #expect(
        try resolve([.delete(key)], base: base, remote: found(["a": .integer(1)], 5), policy)
          == .mutations([.delete(key)]))
      #expect(try resolve([.delete(key)], base: base, remote: gone, policy) == .isThere)
      let edit = Mutation.patch(key, ["b": .integer(2)], mask: try mask(["b"]))
      #expect(try result([edit], base: base, remote: gone, policy) == ["a": .integer(1), "b": .integer(2)])
    }
  }

  @Test("what the backend has already is not written again")
  func isThere() throws {
    let edit = Mutation.patch(key, ["a": .integer(2)], mask: try mask(["a"]))
    for policy in [merge, .keepBoth, .ask(resolver: 0), .lastWriter(try FieldPath(["a"]))] {
      #expect(
        try resolve([edit], base: found(["a": .integer(1)]), remote: found(["a": .integer(2)], 2), policy) == .isThere)
    }
  }

  @Test("both sides are kept, the local one as a copy")
  func copies() throws {
    let resolution = try resolve(
      [.patch(key, ["a": .integer(2)], mask: mask(["a"]))], base: found(["a": .integer(1), "b": .integer(1)]),
      remote: found(["a": .integer(3)], 2), .keepBoth)
    let copy = try DocumentKey(ResourcePath(["todos", "a~00000001"]))
    #expect(resolution == .copy(.set(copy, ["a": .integer(2), "b": .integer(1)])))
  }

  @Test("the last writer is the one with the larger value")
  func lastWriter() throws {
    let policy = ConflictPolicy.lastWriter(try FieldPath(["at"]))
    func winner(_ local: MapValue, _ remote: MapValue) throws -> MapValue? {
      try result([.set(key, local)], base: found(["at": .integer(0)]), remote: found(remote, 2), policy)
    }
    let (older, newer): (MapValue, MapValue) = (["at": .integer(1)], ["at": .integer(2)])
    #expect(try winner(older, newer) == newer)
    #expect(try winner(newer, older) == newer)
    #expect(try winner(["x": .null], older) == older)
    #expect(try winner(older, ["x": .null]) == older)
    #expect(try resolve([.delete(key)], base: found(older), remote: found(newer, 2), policy) == .dropped)
  }

  @Test("an application is asked, unless there is nothing to ask")
  func asks() throws {
    let edit = Mutation.patch(key, ["a": .integer(2)], mask: try mask(["a"]))
    #expect(
      try resolve([edit], base: found(["a": .integer(1)]), remote: found(["a": .integer(3)], 2), .ask(resolver: 0))
        == nil)
    #expect(
      try DocumentEdit([edit], on: found(["a": .integer(1)]))
        .kept(over: .missing(key, version: .none)) == .mutations([.set(key, ["a": .integer(2)])]))
  }

  @Test("a scope contains the documents that it names")
  func scopes() throws {
    let below = try DocumentKey(ResourcePath(["todos", "a", "todos", "b"]))
    #expect(ConflictScope.collection(ResourcePath(["todos"])).contains(key))
    #expect(!ConflictScope.collection(ResourcePath(["todos"])).contains(below))
    #expect(ConflictScope.collectionGroup("todos").contains(below))
    #expect(ConflictScope.document(key).contains(key) && !ConflictScope.document(key).contains(below))
    let rules = ConflictRules([
      ConflictRule(.document(below), .keepBoth), ConflictRule(.collectionGroup("todos"), merge),
    ])
    #expect(rules.policy(for: below) == .keepBoth && rules.policy(for: key) == merge)
    #expect(rules.policy(for: try DocumentKey(ResourcePath(["rooms", "a"]))) == nil)
  }
}
