import HearthWire
import SwiftProtobuf

/// Requests that hold as much as a request may. Those that hold more are refused before a message is made of them.
extension Attack {
  /// The server's default for writes and names in one request.
  private static let entries = 10_000
  /// As many values as fit into a document.
  private static let values = 100_000

  static let largeRequests: [(name: String, call: @Sendable () throws -> Call)] = [
    ("documents of BatchGetDocuments", { try .batchGet((0..<entries).map { "few/\($0)" }) }),
    (
      "documents of a listener",
      { try .listen { $0.documents.documents = (0..<entries).map { "\(Call.documents)/few/\($0)" } } }
    ),
    ("writes of Commit", { try .commit((0..<entries).map { try .set("many/\($0)", ["n": .integer(1)]) }) }),
    (
      "writes of Commit to one document",
      { try .commit((0..<entries).map { try .set("many/one", ["n": .integer($0)]) }) }
    ),
    ("writes of BatchWrite", { try .batchWrite((0..<entries).map { try .set("many/\($0)", ["n": .integer(1)]) }) }),
    (
      "values of append_missing_elements",
      {
        var transform = Google_Firestore_V1_DocumentTransform.FieldTransform()
        transform.fieldPath = "list"
        transform.appendMissingElements = try Google_Firestore_V1_ArrayValue.with { array in
          array.values = (0..<values).map { .integer($0) }
        }.serializedData()
        var write = try Google_Firestore_V1_Write.set("many/appended", ["n": .integer(1)])
        write.updateTransforms = [transform]
        return try .commit([write])
      }
    ),
    (
      "fields of a document",
      {
        let fields = (0..<values / 2).map { ("f\($0)", Google_Firestore_V1_Value.integer(1)) }
        return try .commit([.set("many/wide", Dictionary(uniqueKeysWithValues: fields))])
      }
    ),
  ]
}
