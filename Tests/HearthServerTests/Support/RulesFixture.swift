import HearthModel
import HearthRules
import HearthWire
import Synchronization
import Testing

@testable import HearthServer

/// A database with security rules, and sessions of callers in it.
struct RulesFixture {
  let storage: StorageFixture
  let seal = CallerSeal()

  init() throws {
    storage = try StorageFixture()
  }

  /// Rules for the documents of a database; lines of `match`.
  static func rules(_ matches: String) throws -> RuleSet {
    try RuleSet(
      """
      rules_version = '2';
      service cloud.firestore {
        match /databases/{database}/documents {
          \(matches)
        }
      }
      """)
  }

  /// Each user has the notes with its name as their owner.
  static let owned = "match /notes/{id} { allow read, write: if resource.data.owner == request.auth.uid; }"

  /// Notes are for those whose role is that of an editor, and rooms for their members.
  static let byRole = """
    function role() { return get(/databases/$(database)/documents/roles/$(request.auth.uid)).data.role; }
    match /notes/{id} { allow read, write: if role() == 'editor'; }
    match /rooms/{id} { allow read: if exists(/databases/$(database)/documents/members/$(id + request.auth.uid)); }
    """

  func access(_ matches: String, isDevelopment: Bool = false) throws -> AccessRules {
    AccessRules(try Self.rules(matches), isDevelopment: isDevelopment, clock: storage.clock.clock)
  }

  func session(_ caller: Caller, _ matches: String, isDevelopment: Bool = false) throws -> Session {
    session(caller, try access(matches, isDevelopment: isDevelopment))
  }

  func session(_ caller: Caller, _ access: AccessRules) -> Session {
    Session(storage.database, of: caller, accessGuard: access, seal: seal)
  }

  @discardableResult
  func set(_ path: String, _ fields: MapValue = [:]) async throws -> SnapshotVersion {
    try await storage.set(path, fields)
  }

  /// A room whose list of members has 850 KB.
  func setLargeRoom() async throws {
    let members = (0..<25_000).map { Value.string("member with the number \($0)") }
    try await set("rooms/r", ["members": .array(members)])
  }

  func read(_ session: Session, _ path: String) async throws -> Bool {
    try await session.documents(for: [key(path)], at: nil).documents[0].isFound
  }

  func expectDenied(
    _ what: String = "", sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
  ) async {
    let error = await #expect(throws: StatusError.self, "\(what)", sourceLocation: sourceLocation) { try await body() }
    #expect(error?.code == .permissionDenied, "\(what)", sourceLocation: sourceLocation)
  }

  /// Tries writes on every way that a session has.
  func expectWriteDenied(
    _ caller: Caller, _ matches: String, _ mutations: Mutation..., sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let session = try session(caller, matches)
    // Only there users have transactions.
    let development = try self.session(caller, matches, isDevelopment: true)
    let before = try storage.storage.currentVersion()
    await expectDenied("stream", sourceLocation: sourceLocation) {
      _ = try await session.commit(CommitRequest(mutations: mutations))
    }
    await expectDenied("call", sourceLocation: sourceLocation) {
      _ = try await session.commit(mutations, endingTransaction: [])
    }
    let transaction = try await development.beginTransaction(.optimistic)
    await expectDenied("transaction", sourceLocation: sourceLocation) {
      _ = try await development.commit(mutations, endingTransaction: transaction)
    }
    #expect(try storage.storage.currentVersion() == before, sourceLocation: sourceLocation)
  }
}

/// Rules that tell which accesses they are asked about.
final class ObservedRules: AccessGuard {
  private let rules: AccessRules
  private let observe: @Sendable (Access) -> Void

  init(_ rules: AccessRules, observe: @escaping @Sendable (Access) -> Void) {
    (self.rules, self.observe) = (rules, observe)
  }

  var release: Int { rules.release }

  func check(_ access: Access, by caller: Caller, in database: DatabaseID) throws(StatusError) -> RuleCheck? {
    observe(access)
    return try rules.check(access, by: caller, in: database)
  }

  func checkOpening(_ database: DatabaseID, by caller: Caller) throws(StatusError) {
    try rules.checkOpening(database, by: caller)
  }

  func checkListing(by caller: Caller) throws(StatusError) { try rules.checkListing(by: caller) }
  func tellsCallersApart(in database: DatabaseID) -> Bool { rules.tellsCallersApart(in: database) }
}

/// Everything that a stream has sent about documents.
final class SentDocuments: Sendable {
  private let all = Mutex<(found: [(key: DocumentKey, fields: MapValue)], named: Set<DocumentKey>)>(([], []))

  /// The documents that were named only.
  var names: Set<DocumentKey> { all.withLock { $0.named } }
  /// The documents that were sent with their contents.
  var found: Set<DocumentKey> { all.withLock { Set($0.found.map(\.key)) } }

  /// The field `text` of documents, in the order in which they were sent.
  var texts: [String] {
    all.withLock { $0.found.compactMap { if case .string(let text)? = $0.fields["text"] { text } else { nil } } }
  }

  func take(_ messages: [ListenMessage]) throws {
    for response in try messages.flatMap({ try $0.decoded }) {
      guard case .documentChange(let change) = response else { continue }
      guard let document = change.document, document.isFound else {
        all.withLock { _ = $0.named.insert(change.key) }
        continue
      }
      let fields = try document.fields.decoded()
      all.withLock { $0.found.append((document.key, fields)) }
    }
  }

  func forget() { all.withLock { $0 = ([], []) } }
}
