internal import GRPCCore
internal import GRPCNIOTransportHTTP2
package import HearthModel

/// The one call of `google.firestore.admin.v1` that is made.
extension FirestoreTransport {
  private static let listDatabases = MethodDescriptor(
    service: ServiceDescriptor(fullyQualifiedService: "google.firestore.admin.v1.FirestoreAdmin"),
    method: "ListDatabases")

  /// The names of the databases of a project, or of all projects, which only `hearth serve` lists.
  ///
  /// - Parameter project: Nil for all.
  /// - Throws: A `StatusError`: UNIMPLEMENTED by backends without this call, such as Google's emulator.
  package func databases(
    ofProject project: String?, timeout: Duration? = nil
  ) async throws(StatusError) -> [DatabaseID] {
    var request = WireWriter()
    request.writeString("projects/\(project ?? "-")", field: 1)
    let bytes = request.bytes
    let answer = try await call(timeout: timeout) { client, metadata, options in
      try await client.unary(
        request: ClientRequest(message: bytes, metadata: metadata), descriptor: Self.listDatabases,
        serializer: PlainBytes(), deserializer: PlainBytes(), options: options
      ) { response in
        try response.message
      }
    }
    return try decoded { try Self.names(in: answer) }
  }

  /// The names in a `ListDatabasesResponse`. Those of a form that is not known are left out.
  private static func names(in response: [UInt8]) throws -> [DatabaseID] {
    try response.withUnsafeBytes { bytes in
      var (reader, databases) = (WireReader(bytes), [DatabaseID]())
      while let tag = try reader.readTag("ListDatabasesResponse") {
        guard tag == WireTag(field: 1, type: .lengthDelimited) else {
          try reader.skip(tag, "ListDatabasesResponse")
          continue
        }
        var database = try reader.readMessage("ListDatabasesResponse.databases")
        while let tag = try database.readTag("Database") {
          guard tag == WireTag(field: 1, type: .lengthDelimited) else {
            try database.skip(tag, "Database")
            continue
          }
          let name = try database.readString("Database.name")
          if let id = try? DatabaseID(resourceName: name) { databases.append(id) }
        }
      }
      return databases
    }
  }
}

/// Messages that are read and written by hand.
private struct PlainBytes: MessageSerializer, MessageDeserializer {
  func serialize<Bytes: GRPCContiguousBytes>(_ message: [UInt8]) throws -> Bytes { Bytes(message) }

  func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> [UInt8] {
    bytes.withUnsafeBytes { Array($0) }
  }
}
