internal import HearthModel
internal import HearthRPC
internal import NIOCore

extension FirestoreService {
  /// Deletes all documents of a database, or all below a document or a collection, as Google's emulator does for tests.
  ///
  /// The request is the name of the place. Readers and listeners see all of it or nothing. The database's open transactions are aborted: a
  /// test that was ended in the middle of one must not stop the next test.
  var clear: CallMethod {
    .encoded("ClearDocuments", .oneRequest) { call, name in
      let place = try ResourceName(parsing: EmulatorCall.parts(of: name).name, at: "path")
      let database = try await sessions.open(place.database, for: call)
      try await database.clear(place.path)
    }
  }
}
