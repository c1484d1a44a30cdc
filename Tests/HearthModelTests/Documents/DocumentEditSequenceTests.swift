import HearthModel
import Testing

/// Several mutations of one document whose fields overlap.
@Suite("Edits of several mutations")
struct DocumentEditSequenceTests {
  private let key = try! DocumentKey(ResourcePath(["todos", "a"]))
  private let time = Timestamp(seconds: 9, nanoseconds: 0)

  private func found(_ fields: MapValue, _ version: Int64) -> Document {
    .found(key, version: SnapshotVersion(microseconds: version), fields: EncodedFields(fields))
  }

  /// The document as the backend makes it.
  private func carriedOut(_ mutations: [Mutation], on document: Document) throws -> MapValue? {
    var document = document
    for mutation in mutations {
      document =
        try mutation.applied(to: document, commitTime: SnapshotVersion(microseconds: 9), requestTime: time).document
    }
    return try document.isFound ? document.fields.decoded() : nil
  }

  private func value(_ generator: inout ModelGenerator, depth: Int = 2) -> Value {
    if depth > 0, generator.chance(3) {
      return .map(
        MapValue(
          entries: ["a", "b"].filter { _ in generator.chance(2) }.map {
            ($0, value(&generator, depth: depth - 1))
          }))
    }
    return .integer(Int64(generator.below(3)))
  }

  private func paths(_ generator: inout ModelGenerator) -> [FieldPath] {
    // No path of one write is a part of another one.
    var chosen: [FieldPath] = []
    for _ in 0..<generator.below(3) {
      let path = field(generator.pick(["a", "a.a", "a.b", "a.b.a", "b", "b.a"]))
      if !chosen.contains(where: { $0.isPrefix(of: path) || path.isPrefix(of: $0) }) { chosen.append(path) }
    }
    return chosen
  }

  private func mutation(_ generator: inout ModelGenerator) -> Mutation {
    let all = paths(&generator)
    let count = all.isEmpty ? 0 : generator.below(all.count + 1)
    let transforms = all[count...].map {
      FieldTransform(
        path: $0, operation: generator.chance(3) ? .serverTimestamp : .increment(.integer(Int64(generator.below(3)))))
    }
    if generator.chance(6) {
      return .set(key, ["a": value(&generator), "b": value(&generator)], transforms: transforms)
    }
    var values = MapValue()
    for path in all[..<count] where !generator.chance(3) { values.set(value(&generator), at: path) }
    return .patch(key, values, mask: FieldMask(Array(all[..<count])), precondition: .none, transforms: transforms)
  }

  @Test("an edit makes of its base, and of a document in which another field differs, what its mutations make")
  func sequences() throws {
    var generator = ModelGenerator(seed: 20_261_130)
    for _ in 0..<4_000 {
      let base: MapValue = ["a": value(&generator), "b": value(&generator), "other": .integer(0)]
      let mutations = (0..<1 + generator.below(4)).map { _ in mutation(&generator) }
      let edit = try DocumentEdit(mutations, on: found(base, 1))
      let shown = edit.contents(at: time).map { withoutTimes($0) }
      try #require(
        shown == (try carriedOut(mutations, on: found(base, 1))).map { withoutTimes($0) }, "\(mutations) on \(base)")

      var theirs = base
      theirs["other"] = .integer(1)
      let remote = found(theirs, 2)
      let isWhole = mutations.contains { if case .set = $0.operation { true } else { false } }
      guard !isWhole else { continue }
      let resolution = try edit.resolved(
        by: .mergeFields(prefersRemote: false), with: remote, copyName: "", at: time)
      let merged: MapValue? =
        switch resolution {
        case .mutations(let merged)?: try carriedOut(merged, on: remote)
        case .isThere?: theirs
        default: nil
        }
      let expected = try carriedOut(mutations, on: remote)
      try #require(merged.map { withoutTimes($0) } == expected.map { withoutTimes($0) }, "\(mutations) on \(base)")
    }
  }

  /// The time of the backend, and its estimate, count as the same.
  private func withoutTimes(_ fields: MapValue) -> MapValue {
    var changed = fields
    for entry in fields.entries {
      switch entry.value {
      case .timestamp, .pendingServerTimestamp: changed[entry.key] = .null
      case .map(let map): changed[entry.key] = .map(withoutTimes(map))
      default: continue
      }
    }
    return changed
  }
}
