internal import HearthModel
internal import HearthRPC
internal import Logging
internal import NIOCore

extension FirestoreService {
  /// Deletes all documents of a database, or all below a document or a collection, as Google's emulator does for tests.
  ///
  /// The request is the name of the place. Readers and listeners see all of it or nothing. The database's open transactions are aborted: a
  /// test that was ended in the middle of one must not stop the next test.
  ///
  /// - Parameter logger: Reports that there was no such database, such as one whose name was mistyped.
  func clear(_ logger: Logger) -> CallMethod {
    let log = FailureLog(logger)
    return .encoded("ClearDocuments", .oneRequest) { call, name in
      let place = try ResourceName(parsing: EmulatorCall.parts(of: name).name, at: "path")
      let database = try await sessions.open(place.database, for: call)
      let known = try await sessions.databaseNames()
      try await database.clear(place.path)
      if !known.contains(place.database) { Self.reportNothing(place.database, known, log) }
    }
  }

  private static func reportNothing(_ database: DatabaseID, _ known: [DatabaseID], _ log: FailureLog) {
    let usual = DatabaseID(projectID: database.projectID)
    let isMistyped = database.database == "default" && known.contains(usual)
    // A test that has written nothing yet clears nothing, either.
    log.log(
      level: isMistyped ? .warning : .info,
      "cleared nothing: there is no such database" + (isMistyped ? " (did you mean \(usual.database)?)" : ""),
      ["database": .escaped(database)])
  }
}
