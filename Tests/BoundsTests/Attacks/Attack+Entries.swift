import Foundation
import HearthWire
import SwiftProtobuf

/// Requests with very many entries in one repeated field. Each is answered or refused; none may cost more than its bytes.
extension Attack {
  static let entries = 100_000

  /// Each repeated field of each request, by the name of the field.
  static let requests: [(field: String, call: @Sendable () throws -> Call)] = [
    (
      "StructuredQuery.where",
      {
        let filters = try (0..<entries).map { try StructuredQuery.Filter.field("f\($0)", .lessThan, .integer(1)) }
        return try .query(.of("few") { $0.where = .composite(.and, filters) })
      }
    ),
    (
      "StructuredQuery.where, or",
      {
        let filters = try (0..<entries).map { try StructuredQuery.Filter.field("f\($0)", .equal, .integer(1)) }
        return try .query(.of("few") { $0.where = .composite(.or, filters) })
      }
    ),
    (
      "StructuredQuery.where, in",
      {
        let values = Google_Firestore_V1_Value.array((0..<entries).map { .integer($0) })
        let filter = try StructuredQuery.Filter.field("n", .in, values)
        return try .query(.of("few") { $0.where = filter })
      }
    ),
    ("StructuredQuery.order_by", { try .query(.of("few") { $0.orderBy = names.map { .by($0) } }) }),
    (
      "StructuredQuery.start_at",
      {
        let value = try Google_Firestore_V1_Value.integer(1).serializedData()
        return try .query(
          .of("few") {
            $0.orderBy = [.by("n")]
            $0.startAt.values = Array(repeating: value, count: entries)
          })
      }
    ),
    ("StructuredQuery.select", { try .query(.of("few") { $0.select.fields = names.map { .init($0) } }) }),
    (
      "StructuredQuery.from",
      {
        try .query(.of("few") { query in query.from = Array(repeating: query.from[0], count: entries) })
      }
    ),
    (
      "StructuredAggregationQuery.aggregations",
      {
        var count = Google_Firestore_V1_StructuredAggregationQuery.Aggregation()
        count.count = .init()
        return try .aggregation(.of("few"), Array(repeating: count, count: entries))
      }
    ),
    (
      "Target.query",
      {
        let filters = try (0..<entries).map { try StructuredQuery.Filter.field("f\($0)", .lessThan, .integer(1)) }
        return try .listen(.of("few") { $0.where = .composite(.and, filters) })
      }
    ),
    (
      "Target.documents",
      { try .listen { $0.documents.documents = (0..<entries).map { "\(Call.documents)/few/\($0)" } } }
    ),
    ("GetDocument.mask", { try .get("few/a") { $0.mask.fieldPaths = names } }),
    ("ListDocuments.mask", { try .list("few") { $0.mask.fieldPaths = names } }),
    ("BatchGetDocuments.mask", { try .batchGet(["few/a"]) { $0.mask.fieldPaths = names } }),
    ("BatchGetDocuments.documents", { try .batchGet((0..<entries).map { "few/\($0)" }) }),
    (
      "Commit.writes",
      { try .commit((0..<entries).map { try .set("many/\($0)", ["n": .integer(1)]) }) }
    ),
    (
      "Commit.writes of one document",
      { try .commit((0..<entries).map { try .set("many/one", ["n": .integer($0)]) }) }
    ),
    ("BatchWrite.writes", { try .batchWrite((0..<entries).map { try .set("many/\($0)", ["n": .integer(1)]) }) }),
    (
      "BatchWrite.labels",
      {
        try .batchWrite(
          [.set("many/labelled", ["n": .integer(1)])],
          labels: Dictionary(uniqueKeysWithValues: names.map { ($0, "x") }))
      }
    ),
    (
      "Write.update_mask",
      {
        var write = try Google_Firestore_V1_Write.set("many/masked", ["n": .integer(1)])
        write.updateMask.fieldPaths = names
        return try .commit([write])
      }
    ),
    (
      "Write.update_transforms",
      {
        var write = try Google_Firestore_V1_Write.set("many/transformed", ["n": .integer(1)])
        write.updateTransforms = names.map { name in
          var transform = Google_Firestore_V1_DocumentTransform.FieldTransform()
          transform.fieldPath = name
          transform.setToServerValue = .requestTime
          return transform
        }
        return try .commit([write])
      }
    ),
    (
      "FieldTransform.append_missing_elements",
      {
        var transform = Google_Firestore_V1_DocumentTransform.FieldTransform()
        transform.fieldPath = "list"
        transform.appendMissingElements = try Google_Firestore_V1_ArrayValue.with { array in
          array.values = (0..<entries).map { .integer($0) }
        }.serializedData()
        var write = try Google_Firestore_V1_Write.set("many/appended", ["n": .integer(1)])
        write.updateTransforms = [transform]
        return try .commit([write])
      }
    ),
    (
      "Document.fields",
      {
        try .commit([
          .set("many/wide", Dictionary(uniqueKeysWithValues: names.map { ($0, .integer(1)) }))
        ])
      }
    ),
  ]

  private static var names: [String] { (0..<entries).map { "f\($0)" } }
}
