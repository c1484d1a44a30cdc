internal import HearthModel
internal import HearthRPC
internal import NIOCore

/// The part of the service `google.firestore.admin.v1.FirestoreAdmin` that this server implements: the list of its databases.
///
/// `ListDatabases` lists those of a project. For the parent `projects/-` it lists those of all projects, as Google's APIs read across
/// collections (https://google.aip.dev/159); Cloud Firestore does not take it.
struct AdminService: Sendable {
  static let name = "google.firestore.admin.v1.FirestoreAdmin"

  let sessions: Sessions

  var methods: [CallMethod] { [.encoded("ListDatabases", .oneRequest, listDatabases)] }

  /// `Database.DatabaseType.FIRESTORE_NATIVE`.
  private static let nativeType: Int64 = 1

  private func listDatabases(_ call: ServerCall, _ message: ByteBuffer) async throws {
    let parent = try Self.parent(message)
    let parts = parent.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0] == "projects", !parts[1].isEmpty else {
      throw StatusError(
        code: .invalidArgument,
        message: "parent is \"\(parent.prefix(200))\", but must have the form projects/<project>, or projects/- for all"
      )
    }
    let names = try await sessions.databaseNames(for: call).filter { parts[1] == "-" || $0.projectID == parts[1] }
    var response = WireWriter()
    for name in names {
      response.writeMessage(field: 1) { database in
        database.writeString(name.resourceName, field: 1)
        database.writeVarint(Self.nativeType, field: 10)
      }
    }
    try await call.send(response.bytes, isHeldBack: true)
  }

  /// `ListDatabasesRequest.parent`.
  private static func parent(_ message: ByteBuffer) throws -> String {
    try message.withUnsafeReadableBytes { bytes in
      var (reader, parent) = (WireReader(bytes), "")
      while let tag = try reader.readTag("ListDatabasesRequest") {
        if tag == WireTag(field: 1, type: .lengthDelimited) {
          parent = try reader.readString("ListDatabasesRequest.parent")
        } else {
          try reader.skip(tag, "ListDatabasesRequest")
        }
      }
      return parent
    }
  }
}
