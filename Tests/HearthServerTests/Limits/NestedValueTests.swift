import GRPCCore
import HearthModel
import Testing

@testable import HearthServer

@Suite("Deeply nested values")
struct NestedValueTests {
  private static func nested(_ levels: Int) -> Value {
    (0..<levels).reduce(1.value) { value, _ in .map(["n": value]) }
  }

  private static func union(_ element: Value) throws -> Mutation {
    .set(key("c/d"), [:], transforms: [FieldTransform(path: field("a"), operation: .arrayUnion([element]))])
  }

  @Test("array transforms take elements up to the limit of 20 levels, and more are refused for good")
  func transforms() async throws {
    try await ServerFixture.withServer { fixture in
      try await fixture.commit([try Self.union(Self.nested(WriteLimits.maximumDepth - 1))])
      let contains = Query(path: path("c")).with(
        filter: .field(field("a"), .arrayContains, Self.nested(WriteLimits.maximumDepth - 1)))
      let ids = try await fixture.ids(contains)
      #expect(ids == ["d"])
      // Deeper than generated messages can be read: 100 messages are about 30 levels of a value.
      for levels in [WriteLimits.maximumDepth, 40, 90] {
        let error = await #expect(throws: RPCError.self) {
          try await fixture.commit([try Self.union(Self.nested(levels))])
        }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains("nested deeper than 20 levels") == true, "\(error?.message ?? "")")
      }
    }
  }

  @Test("an operand that no document can hold finds nothing, and one beyond all bounds is refused for good")
  func filters() async throws {
    try await ServerFixture.withServer { fixture in
      try await fixture.commit([.set(key("c/d"), ["a": Self.nested(20)])])
      let collection = Query(path: path("c"))
      let same = try await fixture.ids(collection.with(filter: .field(field("a"), .equal, Self.nested(20))))
      #expect(same == ["d"])
      let deeper = try await fixture.ids(collection.with(filter: .field(field("a"), .equal, Self.nested(90))))
      #expect(deeper.isEmpty)
      let error = await #expect(throws: RPCError.self) {
        try await fixture.ids(collection.with(filter: .field(field("a"), .equal, Self.nested(101))))
      }
      #expect(error?.code == .invalidArgument)
      #expect(error?.message.contains("nested more than 100 levels") == true, "\(error?.message ?? "")")
    }
  }
}
