internal import Foundation
internal import HearthModel
internal import Synchronization

/// Refuses queries that production would refuse because an index is missing (`hearth serve --require-indexes`). This server could answer
/// them without an index; a project that is tested with this check works in production, too.
final class RequiredIndexes: Sendable {
  private let declared = Mutex(DeclaredIndexes())

  func declare(_ indexes: DeclaredIndexes) {
    declared.withLock { $0 = indexes }
  }

  /// - Throws: FAILED_PRECONDITION in production's words, with the definition of the index.
  func check(_ needs: [IndexNeed], in database: DatabaseID) throws(StatusError) {
    let missing = declared.withLock { declared in needs.first { !declared.answer($0) } }
    if let missing { throw Self.failure(for: missing.suggestion, in: database) }
  }

  private static func failure(for index: QueryIndexDefinition, in database: DatabaseID) -> StatusError {
    let single = index.singleField
    let message = encoded(index, in: database)
    let link =
      "https://console.firebase.google.com/v1/r/project/\(database.projectID)/firestore/indexes?"
      + (single == nil ? "create_composite=" : "create_exemption=")
      + Data(message).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    let what =
      single.map {
        "requires a \($0.name) index for collection \(index.collectionGroup) and field \($0.field.path.canonicalString)"
      } ?? "requires an index"
    var violation = WireWriter()
    violation.writeString("MISSING_INDEX", field: 1)
    violation.writeString(collectionName(of: index, in: database), field: 2)
    violation.writeString(index.declaration, field: 3)
    var failure = WireWriter()
    failure.writeBytes(violation.bytes, field: 1)
    return StatusError(
      code: .failedPrecondition,
      message: "The query \(what). You can create it here: \(link)\n"
        + "For hearth serve, declare it in the file of --indexes, in addition to those that are there: \(index.productionFile)",
      details: [StatusError.Detail(typeName: "google.rpc.PreconditionFailure", bytes: failure.bytes)])
  }

  private static func collectionName(of index: QueryIndexDefinition, in database: DatabaseID) -> String {
    "\(database.resourceName)/collectionGroups/\(index.collectionGroup)"
  }

  /// The message `google.firestore.admin.v1.Index` that the console's page reads from its address. For a single field, its name is that of the
  /// field, and the key is left out, as in the addresses that production gives.
  private static func encoded(_ index: QueryIndexDefinition, in database: DatabaseID) -> [UInt8] {
    var writer = WireWriter()
    let single = index.singleField
    let last = single.map { "fields/\($0.field.path.canonicalString)" } ?? "indexes/_"
    writer.writeString("\(collectionName(of: index, in: database))/\(last)", field: 1)
    writer.writeVarint(index.scope == .collection ? 1 : 2, field: 2)
    for field in index.fields {
      var entry = WireWriter()
      entry.writeString(field.path.canonicalString, field: 1)
      switch field.kind {
      case .ascending: entry.writeVarint(1, field: 2)
      case .descending: entry.writeVarint(2, field: 2)
      case .contains: entry.writeVarint(1, field: 3)
      }
      writer.writeBytes(entry.bytes, field: 3)
    }
    guard single == nil else { return writer.bytes }
    var key = WireWriter()
    key.writeString("__name__", field: 1)
    key.writeVarint(index.keyDirection == .ascending ? 1 : 2, field: 2)
    writer.writeBytes(key.bytes, field: 3)
    if let vector = index.vector {
      var config = WireWriter()
      config.writeVarint(Int64(vector.dimension), field: 1)
      config.writeBytes([], field: 2)
      var entry = WireWriter()
      entry.writeString(vector.path.canonicalString, field: 1)
      entry.writeBytes(config.bytes, field: 4)
      writer.writeBytes(entry.bytes, field: 3)
    }
    return writer.bytes
  }
}
