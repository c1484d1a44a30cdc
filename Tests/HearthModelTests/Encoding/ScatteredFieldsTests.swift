import HearthModel
import Testing

@Suite("Documents whose fields are scattered over the message")
struct ScatteredFieldsTests {
  private static let n = EncodedFields(["n": .integer(1)])
  private static let t = EncodedFields(["t": .string("x")])

  @Test("keep all of them, in order")
  func scatteredFields() throws {
    let name = EncodedDocument.encode(name: "documents/a", fields: EncodedFields([:]), createTime: nil, updateTime: nil)
    let times = EncodedDocument.encode(
      name: "", fields: EncodedFields([:]), createTime: Timestamp(seconds: 3, nanoseconds: 0),
      updateTime: Timestamp(seconds: 4, nanoseconds: 0))
    let orders: [[UInt8]] = [
      Self.n.bytes + name + Self.t.bytes + times, name + Self.n.bytes + times + Self.t.bytes,
      Self.n.bytes + Self.t.bytes + name + times, name + times + Self.n.bytes + Self.t.bytes,
    ]
    for message in orders {
      let document = try EncodedDocument(parsing: message)
      #expect(document.name == "documents/a")
      #expect(document.fields.bytes == Self.n.bytes + Self.t.bytes)
      #expect(document.createTime == Timestamp(seconds: 3, nanoseconds: 0))
      #expect(document.updateTime == Timestamp(seconds: 4, nanoseconds: 0))
    }
  }
}
