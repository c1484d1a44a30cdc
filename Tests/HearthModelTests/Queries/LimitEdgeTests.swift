import HearthModel
import Testing

@Suite("The edge of a limit")
struct LimitEdgeTests {
  private static let result = (0..<5).map { found("c/\($0)", ["n": .integer(Int64($0))]) }

  private func query(_ type: Query.LimitType) -> Query {
    Query(path: path("c")).with(order: OrderBy(path: field("n"))).with(limit: 3, type: type)
  }

  @Test("is the last of the first documents, and the first of the last ones")
  func edges() {
    let ends = (Self.result[1], Self.result[3])
    #expect(query(.first).edge(first: ends.0, last: ends.1) == ends.1)
    #expect(query(.last).edge(first: ends.0, last: ends.1) == ends.0)
    #expect(query(.first).edge(first: nil, last: nil) == nil)
  }

  @Test("has documents beyond it and inside it, and is neither")
  func sides() throws {
    let edge = Self.result[2]
    for (index, document) in Self.result.enumerated() {
      #expect(query(.first).sorts(document, beyond: edge) == (index > 2))
      #expect(query(.last).sorts(document, beyond: edge) == (index < 2))
      for (type, isInside) in [(Query.LimitType.first, index < 2), (.last, index > 2)] {
        let found = try document.fields.withUnsafeBytes {
          try query(type).sorts(key: document.key, fields: EncodedFieldsView($0), inside: edge)
        }
        #expect(found == isInside)
      }
    }
  }
}
