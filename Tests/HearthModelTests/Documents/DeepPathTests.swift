import HearthModel
import Testing

@Suite("Field paths as deep as they may be")
struct DeepPathTests {
  @Test("a field at the greatest depth of a path can be written, transformed and read back")
  func deepest() throws {
    let segments = (0..<FieldPath.maximumDepth).map { "s\($0)" }
    let deep = try FieldPath(segments)
    var fields = MapValue()
    fields.set(.integer(1), at: deep)
    var document = found("c/a", [:])
    let mutation = Mutation.patch(
      key("c/a"), fields, mask: FieldMask([deep]),
      transforms: [FieldTransform(path: deep, operation: .increment(.integer(1)))])
    _ = try mutation.applyToLocalView(
      &document, previousMask: .empty, localWriteTime: Timestamp(seconds: 1, nanoseconds: 0))
    #expect(try document.fields.value(at: deep) == .integer(2))
    #expect(try document.fields.decoded()[deep] == .integer(2))
  }
  @Test("server timestamps around each other, written from the inside out, leave a document that can be read")
  func timestampsAroundEachOther() throws {
    let names = (0..<90).map { "s\($0)" }
    var fields = MapValue()
    fields.set(.integer(1), at: try FieldPath(names))
    var document = found("c/a", fields)
    for count in (1...90).reversed() {
      let path = try FieldPath(Array(names.prefix(count)))
      let mutation = Mutation.patch(
        key("c/a"), [:], mask: .empty, transforms: [FieldTransform(path: path, operation: .serverTimestamp)])
      _ = try mutation.applyToLocalView(
        &document, previousMask: .empty, localWriteTime: Timestamp(seconds: 1, nanoseconds: 0))
      guard case .pendingServerTimestamp? = try document.fields.decoded()[path] else { return #expect(Bool(false)) }
    }
  }
}
