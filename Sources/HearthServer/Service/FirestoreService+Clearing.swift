internal import HearthModel
internal import NIOCore

extension FirestoreService {
  /// Deletes all documents of a database, or all below a document or a collection, as Google's emulator does for tests.
  ///
  /// The request is the name of the place. Documents are deleted in commits of ``documentsPerClearing``, so listeners see deletions, and
  /// those that are written meanwhile may stay.
  var clear: CallMethod {
    .encoded("ClearDocuments", .oneRequest) { _, name in
      let place = try ResourceName(parsing: String(buffer: name), at: "path")
      let database = try backend.database(place.database)
      // A collection is cleared as that part of what its parent holds.
      let isCollection = !place.path.count.isMultiple(of: 2)
      let parent = isCollection ? place.path.parent : place.path
      let plan = try await ReadPlan.prepare(.latest, in: database)
      var pages = ResultPages(
        of: Query(path: parent, collectionGroup: ""), isShallow: false, plan: plan, in: database)
      while let page = try await pages.next() {
        let keys = page.answer.documents.map(\.key).filter { !isCollection || place.path.isPrefix(of: $0.path) }
        for start in stride(from: 0, to: keys.count, by: Self.documentsPerClearing) {
          let some = keys[start..<min(start + Self.documentsPerClearing, keys.count)]
          _ = try await database.storage.commit(
            CommitRequest(mutations: some.map { Mutation(key: $0, operation: .delete, precondition: .none) }))
        }
      }
      if place.path.count.isMultiple(of: 2), !place.path.isEmpty {
        _ = try await database.storage.commit(
          CommitRequest(
            mutations: [Mutation(key: try DocumentKey(place.path), operation: .delete, precondition: .none)]))
      }
    }
  }

  private static let documentsPerClearing = 500
}
