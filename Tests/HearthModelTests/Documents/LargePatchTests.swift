import Testing

@testable import HearthModel

/// Masks of thousands of fields are legal, and reach the backend: their cost must follow their size.
@Suite("Patches with many fields")
struct LargePatchTests {
  @Test("taking over a mask is the same as setting and removing path by path", arguments: 0..<300)
  func sameAsPathByPath(_ seed: Int) {
    var generator = ModelGenerator(seed: seed)
    let base = generator.map(depth: 3)
    let source = generator.map(depth: 3)
    let mask = FieldMask(generator.some(0..<7) { $0.fieldPath() })
    var expected = base
    for path in mask.paths {
      if let value = source[path] { expected.set(value, at: path) } else { expected.remove(at: path) }
    }
    var actual = base
    actual.replaceFields(mask, from: source)
    #expect(actual == expected, "seed \(seed): \(base), \(mask.paths) from \(source)")
  }

  @Test("a mask covers its paths and all below them", arguments: 0..<100)
  func covering(_ seed: Int) {
    var generator = ModelGenerator(seed: seed)
    let mask = FieldMask(generator.some(0..<5) { $0.fieldPath() })
    for _ in 0..<10 {
      let path = generator.fieldPath()
      #expect(mask.covers(path) == mask.paths.contains { $0.isPrefix(of: path) }, "seed \(seed): \(path)")
    }
  }

  @Test("10,000 nested fields are patched, overlaid, transformed and deleted in moments", .timeLimit(.minutes(1)))
  func manyFields() throws {
    let count = 10_000
    let k = key("c/a")
    let old = MapValue(entries: (0..<count).map { ("old\($0)", 1) })
    let new = MapValue(entries: (0..<count).map { ("new\($0)", 2) })
    let data: MapValue = ["a": .map(new)]
    let leaves = try FieldMask((0..<count).map { try FieldPath(["a", "new\($0)"]) })
    let base = Document.found(k, version: version(1), fields: EncodedFields(["a": .map(old)]))
    let time = Timestamp(seconds: 1, nanoseconds: 0)

    var patched = base
    let changed = try Mutation.patch(k, data, mask: leaves)
      .applyToLocalView(&patched, previousMask: .empty, localWriteTime: time)
    #expect(patched.values[field("a.old0")] == 1 && patched.values[field("a.new9999")] == 2)
    let overlay = try #require(try Mutation.overlay(for: patched, changedFields: changed))
    var overlaid = base
    _ = try overlay.applyToLocalView(&overlaid, previousMask: .empty, localWriteTime: time)
    #expect(overlaid == patched)

    let increments = Mutation.patch(
      k, [:], mask: .empty, transforms: leaves.paths.map { FieldTransform(path: $0, operation: .increment(1)) })
    #expect(try increments.baseValues(for: patched) == data)
    let incremented = try increments.applied(to: patched, commitTime: version(2), requestTime: time)
    #expect(incremented.document.values[field("a.new7")] == 3)

    _ = try Mutation.patch(k, [:], mask: leaves).applyToLocalView(&patched, previousMask: .empty, localWriteTime: time)
    #expect(patched.values == base.values)
  }
}
