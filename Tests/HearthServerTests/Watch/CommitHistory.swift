import HearthModel

@testable import HearthServer

/// The state of each document after each commit, as read at once by the only writer.
actor CommitHistory {
  private struct State {
    var version: SnapshotVersion
    var document: Document
  }

  private let storage: any ServerStorage
  /// Ascending by version.
  private var states: [DocumentKey: [State]] = [:]

  init(_ fixture: any ListenedFixture) {
    storage = fixture.database.storage
  }

  func commit(_ mutations: [Mutation]) async throws {
    let version = try await storage.commit(CommitRequest(mutations: mutations)).version
    let keys = Array(Set(mutations.map(\.key)))
    for document in try await storage.documents(for: keys, at: nil).documents {
      states[document.key, default: []].append(State(version: version, document: document))
    }
  }

  /// Returns whether a document was written between two versions, and matched a query, without regard to its limit, at one of them or
  /// in between. Without a limit, it must have matched in between, or it would have been in the result at one of the two.
  func explains(_ removal: ViewedStream.Passing, asked query: Query) -> Bool {
    let states = states[removal.key] ?? []
    let written = states.filter { $0.version > removal.after && $0.version <= removal.through }
    guard !written.isEmpty else { return false }
    if written.contains(where: { $0.document.isFound && query.matches($0.document) }) { return true }
    guard query.limit != nil, let start = states.last(where: { $0.version <= removal.after }) else { return false }
    return start.document.isFound && query.matches(start.document)
  }
}
