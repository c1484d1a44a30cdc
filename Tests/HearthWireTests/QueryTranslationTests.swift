import Foundation
import HearthModel
import HearthWire
import SwiftProtobuf
import Testing

private let translator = WireTranslator(database: database)
private let root = "projects/demo/databases/(default)/documents"
private typealias Structured = Google_Firestore_V1_StructuredQuery

/// The target of a Listen request that names one document or one query.
private func target(of type: Google_Firestore_V1_Target.OneOf_TargetType) throws -> HearthModel.Target {
  switch type {
  case .documents(let documents):
    let keys = try translator.decode(documents)
    #expect(keys.count == 1)
    return Query(path: keys[0].path).target
  case .query(let query):
    return try translator.decode(query).query.target
  }
}

private func path(_ text: String) -> FieldPath { try! FieldPath(parsingServerFormat: text) }

@Suite("Targets and queries on the wire")
struct QueryTranslationTests {
  @Test("every target comes back as it was, also through bytes")
  func roundTrip() throws {
    var generator = Generator(seed: Generator.seed)
    for _ in 0..<1000 {
      let sent = generator.target()
      var message = Google_Firestore_V1_Target()
      message.targetType = translator.encode(sent)
      message = try Google_Firestore_V1_Target(serializedBytes: message.serializedBytes() as [UInt8])
      let type = try #require(message.targetType)
      #expect(try target(of: type) == sent, "seed \(Generator.seed)")
    }
  }

  @Test("a single document is asked for by name")
  func documentTarget() throws {
    let sent = Query(path: ResourcePath(["cities", "SF"])).target
    guard case .documents(let documents) = translator.encode(sent) else {
      Issue.record("not a documents target")
      return
    }
    #expect(documents.documents == ["\(root)/cities/SF"])
    #expect(try target(of: .documents(documents)) == sent)
  }

  @Test("several documents are decoded in order, each once")
  func severalDocuments() throws {
    var message = Google_Firestore_V1_Target.DocumentsTarget()
    message.documents = ["\(root)/c/b", "\(root)/c/a", "\(root)/c/b"]
    #expect(try translator.decode(message).map(\.canonicalString) == ["c/b", "c/a"])
    message.documents = ["\(root)/c/b", "c"]
    #expect(try wireError { _ = try translator.decode(message) }.field == "documents.documents[1]")
    message.documents = []
    #expect(try wireError { _ = try translator.decode(message) }.field == "documents.documents")
  }

  @Test("a collection's query runs under its parent, a group's under the root with all descendants")
  func sources() {
    let (parent, query) = translator.structuredQuery(Query(path: ResourcePath(["cities", "SF", "shops"])).target)
    #expect(parent == "\(root)/cities/SF")
    #expect(query.from.map(\.collectionID) == ["shops"])
    #expect(!query.from[0].allDescendants)

    let (groupParent, group) = translator.structuredQuery(
      Query(path: ResourcePath(), collectionGroup: "shops").target)
    #expect(groupParent == root)
    #expect(group.from[0].allDescendants)
  }

  @Test("all collections below a parent are selected without an id and with all descendants")
  func allCollections() throws {
    let everything = Query(path: ResourcePath(["cities", "SF"]), collectionGroup: "")
    let (parent, query) = translator.structuredQuery(everything.target)
    #expect(parent == "\(root)/cities/SF")
    #expect(query.from[0].allDescendants && query.from[0].collectionID.isEmpty)
    #expect(try translator.decode(parent: parent, query: query).query == everything)
    var shallow = query
    shallow.from[0].allDescendants = false
    #expect(try !translator.decode(parent: parent, query: query).isShallow)
    #expect(try translator.decode(parent: parent, query: shallow).isShallow)
    shallow.from = []
    #expect(try translator.decode(parent: parent, query: shallow).isShallow)
  }

  @Test(
    "comparisons with null and NaN are unary filters",
    arguments: [
      (FieldFilter.Operator.equal, Value.null, Google_Firestore_V1_StructuredQuery.UnaryFilter.Operator.isNull),
      (.notEqual, .null, .isNotNull), (.equal, .double(.nan), .isNan), (.notEqual, .double(.nan), .isNotNan),
    ])
  func unary(
    op: FieldFilter.Operator, value: Value, expected: Google_Firestore_V1_StructuredQuery.UnaryFilter.Operator
  ) throws {
    let filter = Filter.field(FieldFilter(path: path("a"), op: op, value: value))
    let message = translator.encode(filter)
    #expect(message.unaryFilter.op == expected)
    #expect(message.unaryFilter.field.fieldPath == "a")
    #expect(try translator.decode(message, at: "f") == filter)
  }

  @Test("a comparison of another kind with null stays a field filter")
  func nullInequality() {
    let message = translator.encode(Filter.field(FieldFilter(path: path("a"), op: .lessThan, value: .null)))
    #expect(message.fieldFilter.op == .lessThan)
  }

  @Test("limit, orders and cursors are written as the protocol wants them")
  func bounds() {
    var query = Query(path: ResourcePath(["cities"]))
    query.explicitOrders = [OrderBy(path: path("n"), direction: .descending)]
    query.limit = 5
    query.startAt = Bound(position: [.integer(1)], isInclusive: true)
    query.endAt = Bound(position: [.integer(0)], isInclusive: true)
    var message = translator.structuredQuery(query.target).query
    #expect(message.orderBy.map(\.field.fieldPath) == ["n", "__name__"])
    #expect(message.orderBy.map(\.direction) == [.descending, .descending])
    #expect(message.limit.value == 5)
    #expect(message.startAt.before)
    #expect(!message.endAt.before)
    query.startAt?.isInclusive = false
    query.endAt?.isInclusive = false
    message = translator.structuredQuery(query.target).query
    #expect(!message.startAt.before)
    #expect(message.endAt.before)
  }

  @Test("the last ones are the first ones of the reverse")
  func limitToLast() {
    var query = Query(path: ResourcePath(["cities"]))
    query.explicitOrders = [OrderBy(path: path("n"), direction: .ascending)]
    query.limit = 5
    query.limitType = .last
    let message = translator.structuredQuery(query.target).query
    #expect(message.orderBy.map(\.direction) == [.descending, .descending])
    #expect(message.limit.value == 5)
  }

  @Test("offset, projection and a limit of nothing are understood")
  func readOnlyParts() throws {
    var message = Structured()
    message.from = [.with { $0.collectionID = "cities" }]
    #expect(try translator.decode(parent: root, query: message).projection == nil)
    #expect(try translator.decode(parent: root, query: message).query.limit == nil)
    message.offset = 3
    message.limit = Google_Protobuf_Int32Value(0)
    message.select.fields = [.with { $0.fieldPath = "`a.b`.c" }, .with { $0.fieldPath = "__name__" }]
    message.orderBy = [.with { $0.field.fieldPath = "n" }]
    let decoded = try translator.decode(parent: root, query: message)
    #expect(decoded.offset == 3)
    #expect(decoded.query.limit == 0)
    #expect(decoded.projection == [try FieldPath(["a.b", "c"]), .documentKey])
    #expect(decoded.query.explicitOrders == [OrderBy(path: path("n"), direction: .ascending)])
    #expect(decoded.findNearest == nil)
  }

  /// A malformed query and the field that the error must name.
  struct Malformed: Sendable, CustomTestStringConvertible {
    var field: String
    var testDescription: String { field }
    var change: @Sendable (inout Google_Firestore_V1_StructuredQuery) -> Void
  }

  private static func fieldFilter(
    _ field: String, _ op: Google_Firestore_V1_StructuredQuery.FieldFilter.Operator, _ value: Value?
  ) -> Google_Firestore_V1_StructuredQuery.Filter {
    .with {
      $0.fieldFilter.field.fieldPath = field
      $0.fieldFilter.op = op
      if let value {
        $0.fieldFilter.value = Data(value.encoded())
      }
    }
  }

  static let malformed: [Malformed] = [
    Malformed(field: "structured_query.from") { $0.from.append($0.from[0]) },
    Malformed(field: "structured_query.from[0].collection_id") { $0.from[0].collectionID = "a/b" },
    Malformed(field: "structured_query.limit") { $0.limit = Google_Protobuf_Int32Value(-1) },
    Malformed(field: "structured_query.limit") { $0.limit = Google_Protobuf_Int32Value(.min) },
    Malformed(field: "structured_query.offset") { $0.offset = -1 },
    Malformed(field: "structured_query.where.filter_type") { $0.where = .init() },
    Malformed(field: "structured_query.where.composite_filter.op") { $0.where.compositeFilter.filters = [.init()] },
    Malformed(field: "structured_query.where.composite_filter.filters") { $0.where.compositeFilter.op = .or },
    Malformed(field: "structured_query.where.composite_filter.filters[1].field_filter.op") {
      $0.where.compositeFilter.op = .and
      $0.where.compositeFilter.filters = [
        fieldFilter("a", .equal, .null), fieldFilter("a", .UNRECOGNIZED(77), .null),
      ]
    },
    Malformed(field: "structured_query.where.field_filter.field.field_path") {
      $0.where = fieldFilter("", .equal, .null)
    },
    Malformed(field: "structured_query.where.field_filter.value") { $0.where = fieldFilter("a", .equal, nil) },
    Malformed(field: "structured_query.where.field_filter.value") {
      $0.where = fieldFilter("a", .in, .integer(1))
    },
    Malformed(field: "structured_query.where.field_filter.value") {
      $0.where = fieldFilter("__name__", .greaterThan, .string("SF"))
    },
    Malformed(field: "structured_query.where.field_filter.value") {
      $0.where = fieldFilter("__name__", .in, .array([.string("SF")]))
    },
    Malformed(field: "structured_query.where.field_filter.op") {
      $0.where = fieldFilter("__name__", .arrayContains, .null)
    },
    Malformed(field: "structured_query.where.unary_filter.field") { $0.where.unaryFilter.op = .isNull },
    Malformed(field: "structured_query.where.unary_filter.op") { $0.where.unaryFilter.field.fieldPath = "a" },
    Malformed(field: "structured_query.order_by[0].field.field_path") { $0.orderBy = [.init()] },
    Malformed(field: "structured_query.order_by[0].direction") {
      $0.orderBy = [
        .with {
          $0.field.fieldPath = "a"
          $0.direction = .UNRECOGNIZED(3)
        }
      ]
    },
    Malformed(field: "structured_query.start_at.values") {
      $0.startAt.values = [Data(Value.null.encoded()), Data(Value.null.encoded())]
    },
    Malformed(field: "structured_query.end_at.values") { $0.endAt.values = [Data(Value.integer(1).encoded())] },
    Malformed(field: "structured_query.end_at.values[0]") {
      $0.orderBy = [.with { $0.field.fieldPath = "__name__" }]
      $0.endAt.values = [Data(Value.integer(1).encoded())]
    },
    Malformed(field: "structured_query.end_at.values[0]") {
      $0.orderBy = [.with { $0.field.fieldPath = "a" }]
      $0.endAt.values = [.init()]
    },
    Malformed(field: "structured_query.select.fields[0].field_path") { $0.select.fields = [.init()] },
  ]

  @Test("a malformed query is refused with the name of the field", arguments: malformed)
  func refusesMalformed(_ malformed: Malformed) throws {
    var message = Structured()
    message.from = [.with { $0.collectionID = "cities" }]
    malformed.change(&message)
    #expect(try wireError { _ = try translator.decode(parent: root, query: message) }.field == malformed.field)
  }

  @Test(
    "a parent that is no document of this database is refused",
    arguments: ["", "projects/demo", root + "/cities", "projects/other/databases/(default)/documents", root + "/"])
  func badParent(parent: String) throws {
    let message = Structured.with { $0.from = [.with { $0.collectionID = "cities" }] }
    #expect(try wireError { _ = try translator.decode(parent: parent, query: message) }.field == "parent")
  }

  @Test("a query target without a query is refused")
  func queryTargetWithoutQuery() throws {
    let message = Google_Firestore_V1_Target.QueryTarget()
    #expect(try wireError { _ = try translator.decode(message) }.field == "query_type")
  }
}
