package import HearthModel
internal import HearthTransport

extension DataBackend {
  /// A list is asked for in addition to the work that a user wants, so it does not wait long.
  private static var listTimeout: Duration { .seconds(10) }

  /// The databases of all projects; those of this project from a backend that lists no others.
  ///
  /// - Throws: A ``DataError`` that says so for backends without a list, such as Google's emulator.
  package func databases() async throws(DataError) -> [DatabaseID] {
    do {
      return try await transport.databases(ofProject: isGoogle ? databaseID.projectID : nil, timeout: Self.listTimeout)
    } catch {
      guard error.code == .unimplemented || error.code == .notFound else {
        throw failure(error, doing: "The databases cannot be listed")
      }
      throw DataError(
        "The backend at \(place) does not list its databases. `hearth serve` and Cloud Firestore do, Google's emulator and "
          + "older servers do not.")
    }
  }
}
