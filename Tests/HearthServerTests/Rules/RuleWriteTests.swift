import HearthModel
import Testing

@testable import HearthServer

/// Commits of callers under security rules.
@Suite("Writes under rules", .everyStorage, .timeLimit(.minutes(1)))
struct RuleWriteTests {
  private let fixture: RulesFixture

  init() throws {
    fixture = try RulesFixture()
  }

  private static let methods = """
    match /c/{id} {
      allow create: if request.resource.data.owner == request.auth.uid && request.resource.data.at == request.time;
      allow update: if resource.data.owner == request.auth.uid
        && request.resource.data.diff(resource.data).affectedKeys().hasOnly(['text']);
      allow delete: if resource.data.text == 'old';
    }
    """

  private func created(_ owner: String) throws -> Mutation {
    Mutation(
      key: key("c/a"), operation: .set(EncodedFields(["owner": .string(owner)])), precondition: .none,
      transforms: [FieldTransform(path: try FieldPath(["at"]), operation: .serverTimestamp)])
  }

  private func patch(_ name: String, _ value: Value) throws -> Mutation {
    .patch(key("c/a"), MapValue([name: value]), mask: FieldMask([try FieldPath([name])]))
  }

  @Test("creating, updating and deleting are decided by what is there and what will be")
  func methods() async throws {
    let alice = try fixture.session(.named("alice"), Self.methods)
    try await fixture.expectWriteDenied(.named("alice"), Self.methods, try created("bob"))
    try await fixture.expectWriteDenied(
      .named("alice"), Self.methods, .set(key("c/a"), ["owner": .string("alice"), "at": .integer(1)]))
    try await fixture.expectWriteDenied(.named("alice"), Self.methods, .delete(key("c/a")))
    _ = try await alice.commit(CommitRequest(mutations: [created("alice")]))
    try await fixture.expectWriteDenied(.named("alice"), Self.methods, try patch("owner", .string("bob")))
    try await fixture.expectWriteDenied(.named("bob"), Self.methods, try patch("text", .string("x")))
    try await fixture.expectWriteDenied(.named("alice"), Self.methods, .delete(key("c/a")))
    _ = try await alice.commit([try patch("text", .string("old"))], endingTransaction: [])
    // All or nothing.
    try await fixture.expectWriteDenied(
      .named("alice"), Self.methods, try patch("text", .string("new")), .set(key("d/a"), [:]))
    _ = try await alice.commit(CommitRequest(mutations: [.delete(key("c/a"))]))
    #expect(try await !fixture.storage.storage.documents(for: [key("c/a")], at: nil).documents[0].isFound)
  }

  @Test("what a commit creates was null before it, and what it deletes is null behind it, also for its other writes")
  func nullDocuments() async throws {
    let rules = """
      match /c/{id} {
        allow create: if get(/databases/$(database)/documents/c/$(id)) == null
          && getAfter(/databases/$(database)/documents/d/x) == null;
        allow delete: if getAfter(/databases/$(database)/documents/c/$(id)) == null;
      }
      match /d/{id} { allow write: if true; }
      """
    let alice = try fixture.session(.named("alice"), rules)
    // A missing document that the request does not name is a failure.
    try await fixture.expectWriteDenied(.named("alice"), rules, .set(key("c/a"), [:]))
    try await fixture.expectWriteDenied(.named("alice"), rules, .set(key("c/a"), [:]), .set(key("d/x"), [:]))
    try await fixture.set("d/x")
    try await fixture.expectWriteDenied(.named("alice"), rules, .set(key("c/a"), [:]))
    _ = try await alice.commit(CommitRequest(mutations: [.set(key("c/a"), [:]), .delete(key("d/x"))]))
    _ = try await alice.commit(CommitRequest(mutations: [.delete(key("c/a"))]))
    #expect(try await !fixture.storage.storage.documents(for: [key("c/a")], at: nil).documents[0].isFound)
  }

  @Test("a merge or a transform into a vector is a change of it, and leaves a vector")
  func vectors() async throws {
    try await fixture.set("c/a", ["owner": .string("alice"), "v": .vector([1, 2])])
    func merge(_ path: String, _ value: Value) throws -> Mutation {
      let path = try FieldPath(parsingServerFormat: path)
      var fields = MapValue()
      fields.set(value, at: path)
      return .patch(key("c/a"), fields, mask: FieldMask([path]))
    }
    func transform(_ path: String, _ operation: TransformOperation) throws -> Mutation {
      Mutation(
        key: key("c/a"), operation: .patch(.empty, mask: .empty),
        transforms: [FieldTransform(path: try FieldPath(parsingServerFormat: path), operation: operation)])
    }
    let owner = try fixture.session(.owner, Self.methods)
    for write in [
      try merge("v.more", .integer(1)), try merge("v.more.inside", .integer(1)),
      try merge("v.value", .array([.integer(1)])), try merge("v.value", .string("x")),
      try transform("v.n", .increment(.integer(1))), try transform("v.value", .arrayUnion([.string("x")])),
      try transform("v.value", .arrayUnion((0..<2048).map { .double(Double($0) + 0.5) })),
    ] {
      try await fixture.expectWriteDenied(.named("alice"), Self.methods, write)
      let error = await #expect(throws: StatusError.self) {
        _ = try await owner.commit(CommitRequest(mutations: [write]))
      }
      #expect(error?.code == .invalidArgument && error?.message.contains("\"v\"") == true, "\(error as Any)")
    }
    _ = try await owner.commit(CommitRequest(mutations: [try merge("v.value", .array([.double(3)]))]))
    _ = try await owner.commit(
      CommitRequest(mutations: [try merge("m.v", .vector([1])), try merge("w.x.y", .integer(1))]))
    let stored = try await fixture.storage.storage.documents(for: [key("c/a")], at: nil).documents[0]
    #expect(try stored.fields.value(at: FieldPath(["v"])) == .vector([3]))
  }

  @Test("a commit of nothing does not tell when anybody has last written")
  func emptyCommit() async throws {
    let last = try await fixture.set("c/a")
    fixture.storage.clock.advance(seconds: 10)
    for caller in [Caller.nobody, .named("alice")] {
      let outcome = try await fixture.session(caller, Self.methods).commit(CommitRequest(mutations: []))
      // A commit is a little ahead of the clock if it follows another one at once.
      #expect(outcome.version.microseconds - last.microseconds > 9_000_000)
    }
  }

  /// A list whose members take a megabyte to look through, each time.
  private static let bySize = """
    function room() { return get(/databases/$(database)/documents/rooms/r).data; }
    function isThere() { return room().members.hasAny([request.auth.uid]); }
    match /notes/{id} { allow read, write: if !isThere() && !isThere(); }
    match /members/{id} { allow read, write: if !(id in room().members || id in room().members); }
    """

  @Test("the rules of all writes of a commit have one bound of effort, and so have all documents of a read")
  func effort() async throws {
    try await fixture.setLargeRoom()
    let session = try fixture.session(.named("alice"), Self.bySize)
    func writes(_ count: Int) -> [Mutation] { (0..<count).map { .set(key("notes/\($0)"), [:]) } }
    _ = try await session.commit(CommitRequest(mutations: writes(20)))
    let before = try fixture.storage.storage.currentVersion()
    await fixture.expectDenied("commit") { _ = try await session.commit(CommitRequest(mutations: writes(200))) }
    #expect(try fixture.storage.storage.currentVersion() == before)
    let keys = (0..<200).map { key("notes/\($0)") }
    _ = try await session.documents(for: Array(keys.prefix(20)), at: nil)
    await fixture.expectDenied("get") { _ = try await session.documents(for: keys, at: nil) }
    await fixture.expectDenied("commits of one request") {
      let batch = BatchEffort()
      for write in writes(200) { _ = try await session.commit(CommitRequest(mutations: [write]), in: batch) }
    }
    await fixture.expectDenied("pieces of a call") {
      var rest = keys[...]
      while !rest.isEmpty {
        rest.removeFirst(try await session.firstDocuments(of: rest.prefix(20), at: nil).documents.count)
      }
    }
    let developer = try fixture.session(.named("alice"), Self.bySize, isDevelopment: true)
    let error = await #expect(throws: StatusError.self) { _ = try await developer.documents(for: keys, at: nil) }
    #expect(error?.message.contains("units of work") == true, "\(error as Any)")
  }

  @Test("looking for a member of the same long list takes its effort twice, whatever the number of documents")
  func membership() async throws {
    try await fixture.setLargeRoom()
    let session = try fixture.session(.named("alice"), Self.bySize)
    let keys = (0..<500).map { key("members/\($0)") }
    _ = try await session.commit(CommitRequest(mutations: keys.map { .set($0, [:]) }))
    #expect(try await session.documents(for: keys, at: nil).documents.count == 500)
    let batch = BatchEffort()
    for key in keys { _ = try await session.commit(CommitRequest(mutations: [.delete(key)]), in: batch) }
    await fixture.expectDenied {
      _ = try await session.commit(CommitRequest(mutations: [.set(key("members/member with the number 7"), [:])]))
    }
  }

  @Test("the rules of all alternatives of a query have one bound of effort")
  func effortOfQueries() async throws {
    try await fixture.setLargeRoom()
    let session = try fixture.session(.named("alice"), Self.bySize)
    func list(_ count: Int) async throws {
      let values = (0..<count).map { Value.integer(Int64($0)) }
      let query = Query(path: path("notes")).with(filter: .field(field("n"), .in, .array(values)))
      _ = try await session.page(of: query, after: nil, at: nil)
    }
    try await list(10)
    await fixture.expectDenied { try await list(30) }
  }

  @Test("a condition tells nothing of a document to those who may not write it")
  func conditions() async throws {
    try await fixture.set("c/a", ["owner": .string("alice"), "text": .string("x")])
    for precondition in [Precondition.exists(false), .exists(true), .updateTime(SnapshotVersion(.epoch))] {
      for path in ["c/a", "c/none", "d/none"] {
        var write = Mutation.set(key(path), ["owner": .string("x")])
        write.precondition = precondition
        try await fixture.expectWriteDenied(.named("bob"), Self.methods, write)
        var deletion = Mutation.delete(key(path))
        deletion.precondition = precondition
        try await fixture.expectWriteDenied(.named("bob"), Self.methods, deletion)
      }
    }
    // Those who may write learn it.
    let alice = try fixture.session(.named("alice"), Self.methods)
    var change = try patch("text", .string("y"))
    change.precondition = .updateTime(SnapshotVersion(.epoch))
    let error = await #expect(throws: StatusError.self) {
      _ = try await alice.commit(CommitRequest(mutations: [change]))
    }
    #expect(error?.code == .failedPrecondition)
  }

  @Test("an error tells nothing of the size or the fields of a document to those who may not write it")
  func sizes() async throws {
    try await fixture.set(
      "c/a", ["text": .string(String(repeating: "x", count: 600_000)), "list": .array([.string("carol")])])
    let padding = Value.string(String(repeating: "y", count: 600_000))
    for path in ["c/a", "c/none"] {
      let mask = FieldMask([try FieldPath(["z"])])
      var write = Mutation.patch(key(path), MapValue(["z": padding]), mask: mask)
      write.precondition = .none
      try await fixture.expectWriteDenied(.named("bob"), "match /d/{id} { allow write: if true; }", write)
      write.transforms = [FieldTransform(path: try FieldPath(["list"]), operation: .arrayUnion([.string("carol")]))]
      try await fixture.expectWriteDenied(.named("bob"), "match /d/{id} { allow write: if true; }", write)
    }
    // Those who may write it hear that it cannot be, and those who may get it, why; so do those who replace it.
    let mask = FieldMask([try FieldPath(["z"])])
    let large = Mutation.patch(key("c/a"), MapValue(["z": padding]), mask: mask)
    let whole = Mutation.set(key("c/a"), ["z": padding, "y": padding])
    for (methods, write, tells) in [("write", large, false), ("get, write", large, true), ("write", whole, true)] {
      let alice = try fixture.session(.named("alice"), "match /c/{id} { allow \(methods): if true; }")
      let error = await #expect(throws: StatusError.self) {
        _ = try await alice.commit(CommitRequest(mutations: [write]))
      }
      #expect(error?.code == .invalidArgument)
      #expect(error?.message.contains("size") == tells, "\(methods): \(error as Any)")
    }
  }

  @Test("an update time is told to those who may get the document, and not to others who may write it")
  func updateTimes() async throws {
    try await fixture.set("c/a", ["n": 1.value])
    var write = Mutation.set(key("c/a"), ["n": 2.value])
    write.precondition = .updateTime(SnapshotVersion(.epoch))
    let version = try fixture.storage.storage.currentVersion().microseconds
    for (methods, tells) in [("write", false), ("get, write", true)] {
      let alice = try fixture.session(.named("alice"), "match /c/{id} { allow \(methods): if true; }")
      let error = await #expect(throws: StatusError.self) {
        _ = try await alice.commit(CommitRequest(mutations: [write]))
      }
      #expect(error?.code == .failedPrecondition)
      #expect(error?.message.contains("\(version)") == tells, "\(methods): \(error as Any)")
    }
  }

  /// Documents that mallory may neither read nor write, and writes of her own that fail and do not.
  private static let locked = "match /own/{id} { allow read, write: if true; }"

  /// The answer to a request, in words.
  private func answer(_ mutations: [Mutation]) async throws -> String {
    let mallory = try fixture.session(.named("mallory"), Self.locked)
    do {
      _ = try await mallory.commit(CommitRequest(mutations: mutations))
      return "committed"
    } catch {
      return "\(error.code): \(error.message)"
    }
  }

  @Test("the answer to a refused request is the same for any contents of documents that the caller may not read")
  func oracle() async throws {
    let large = Value.string(String(repeating: "x", count: 600_000))
    var states: [MapValue?] = [nil, [:], ["n": 81_234.value], ["n": (-5).value, "list": .array([.string("manager")])]]
    states.append(["text": large])
    func probe(_ operation: TransformOperation, _ name: String) throws -> Mutation {
      Mutation(
        key: key("secret/a"), operation: .patch(EncodedFields([:]), mask: FieldMask([])), precondition: .none,
        transforms: [FieldTransform(path: try FieldPath([name]), operation: operation)])
    }
    var exists = Mutation.set(key("secret/a"), [:])
    exists.precondition = .exists(true)
    var isMissing = Mutation.delete(key("secret/a"))
    isMissing.precondition = .exists(false)
    var failing = Mutation.delete(key("own/none"))
    failing.precondition = .exists(true)
    let patch = Mutation.patch(key("secret/a"), MapValue(["z": large]), mask: FieldMask([try FieldPath(["z"])]))
    let probes = [
      exists, isMissing, patch, try probe(.increment(.integer(.max)), "n"),
      try probe(.arrayRemove([.string("manager")]), "list"), .delete(key("secret/a")),
    ]
    let good = Mutation.set(key("own/a"), ["text": .string("x")])
    for probe in probes {
      for request in [[probe, failing], [failing, probe], [good, probe, failing], [probe], [probe, good]] {
        var answers: Set<String> = []
        for state in states {
          if let state {
            try await fixture.set("secret/a", state)
          } else {
            _ = try await fixture.storage.storage.commit(CommitRequest(mutations: [.delete(key("secret/a"))]))
          }
          answers.insert(try await answer(request))
        }
        #expect(answers.count == 1 && !answers.contains("committed"), "\(request): \(answers)")
      }
    }
  }

  @Test("an update time that says that nothing has changed is for those who may read the document")
  func unchanged() async throws {
    let time = try await fixture.set("polls/a", ["list": .array([.string("a")])])
    let probe = Mutation(
      key: key("polls/a"), operation: .patch(EncodedFields([:]), mask: FieldMask([])), precondition: .none,
      transforms: [FieldTransform(path: try FieldPath(["list"]), operation: .arrayRemove([.string("b")]))])
    for (matches, mayRead) in [("allow update: if true;", false), ("allow get, update: if true;", true)] {
      fixture.storage.clock.advance(seconds: 1)
      let caller = try fixture.session(.named("a"), "match /polls/{id} { \(matches) }")
      let outcome = try await caller.commit(CommitRequest(mutations: [probe], returnsDocument: true))
      #expect(outcome.results.first?.version == (mayRead ? time : outcome.version) && outcome.version > time)
      #expect(outcome.document?.version == outcome.results.first?.version)
    }
  }

  @Test("who may write a document and not read it gets its name and its time")
  func writtenDocument() async throws {
    try await fixture.set("polls/a", ["votes": .integer(1), "secret": .string("x")])
    let change = Mutation.patch(
      key("polls/a"), MapValue(["votes": .integer(2)]), mask: FieldMask([try FieldPath(["votes"])]))
    let request = CommitRequest(mutations: [change], returnsDocument: true)
    let writer = try fixture.session(.named("a"), "match /polls/{id} { allow update: if true; }")
    let outcome = try await writer.commit(request)
    #expect(try outcome.document?.fields.decoded() == [:] && outcome.document?.version == outcome.version)
    let reader = try fixture.session(.named("a"), "match /polls/{id} { allow get, update: if true; }")
    #expect(try await reader.commit(request).document?.fields.decoded()["secret"] == .string("x"))
  }

  @Test("the result of an increment is for those who may read the document")
  func transformResults() async throws {
    try await fixture.set("polls/a", ["balance": .integer(1_000)])
    let probe = Mutation(
      key: key("polls/a"), operation: .patch(EncodedFields([:]), mask: FieldMask([])), precondition: .none,
      transforms: [FieldTransform(path: try FieldPath(["balance"]), operation: .increment(.integer(0)))])
    for (matches, result) in [
      ("allow update: if true;", Value.integer(0)), ("allow get, update: if true;", .integer(1_000)),
    ] {
      let caller = try fixture.session(.named("a"), "match /polls/{id} { \(matches) }")
      let outcomes = [
        try await caller.commit(CommitRequest(mutations: [probe])),
        try await caller.commit([probe], endingTransaction: []),
      ]
      for outcome in outcomes { #expect(outcome.results.first?.transformResults == [result]) }
    }
  }

  /// Requests whose first write asks for a field of a document, and whose last one lets the caller get what is there then.
  @Test(
    "a later write that lets the caller get the document does not let the results of earlier ones tell what was in it",
    arguments: [true, false])
  func resultsOfEarlierWrites(isDeleted: Bool) async throws {
    let matches = """
      match /slots/{id} {
        allow get: if resource == null || resource.data.owner == request.auth.uid;
        allow delete: if true;
        allow create, update: if request.resource.data.owner == request.auth.uid
          && request.resource.data.keys().hasOnly(['owner', 'n']);
      }
      """
    let last = isDeleted ? Mutation.delete(key("slots/a")) : .set(key("slots/a"), ["owner": .string("eve")])
    let eve = try fixture.session(.named("eve"), matches)
    func answers(_ first: Mutation) async throws -> [CommitOutcome] {
      var outcomes: [CommitOutcome] = []
      for isLabelled in [true, false] {
        try await fixture.set(
          "slots/a", ["owner": .string("ada"), "pin": .integer(4711), "word": .string("swordfish")])
        fixture.storage.clock.advance(seconds: 1)
        outcomes.append(
          try await isLabelled
            ? eve.commit(CommitRequest(mutations: [first, last])) : eve.commit([first, last], endingTransaction: []))
      }
      return outcomes
    }
    for (operation, result) in [
      (TransformOperation.increment(.integer(5)), Value.integer(5)), (.maximum(.integer(5)), .integer(5)),
      (.minimum(.integer(10_000)), .integer(10_000)),
    ] {
      let probe = Mutation(
        key: key("slots/a"), operation: .patch(EncodedFields([:]), mask: FieldMask([])), precondition: .none,
        transforms: [FieldTransform(path: try FieldPath(["pin"]), operation: operation)])
      for outcome in try await answers(probe) { #expect(outcome.results.first?.transformResults == [result]) }
    }
    for word in ["swordfish", "trout"] {
      let guess = Mutation.patch(
        key("slots/a"), MapValue(["word": .string(word)]), mask: FieldMask([try FieldPath(["word"])]))
      for outcome in try await answers(guess) { #expect(outcome.results.first?.version == outcome.version, "\(word)") }
    }
  }

  @Test("who creates a document that she may get afterwards gets the results of its transforms")
  func resultsOfCreation() async throws {
    let alice = try fixture.session(
      .named("alice"), RulesFixture.owned.replacing("resource.data", with: "request.resource.data"))
    let creation = Mutation(
      key: key("notes/a"), operation: .set(EncodedFields(["owner": .string("alice")])), precondition: .none,
      transforms: [FieldTransform(path: try FieldPath(["n"]), operation: .increment(.integer(7)))])
    let outcome = try await alice.commit(CommitRequest(mutations: [creation]))
    #expect(outcome.results.first?.transformResults == [.integer(7)])
  }

  @Test("who may read a document learns that it has changed, also if the rules do not allow the write any more")
  func lostRace() async throws {
    let matches = "match /slots/{id} { allow read; allow update: if resource.data.owner == null; }"
    let free = try await fixture.set("slots/a", ["owner": .null])
    fixture.storage.clock.advance(seconds: 1)
    try await fixture.set("slots/a", ["owner": .string("bob")])
    var claim = Mutation.set(key("slots/a"), ["owner": .string("alice")])
    claim.precondition = .updateTime(free)
    let alice = try fixture.session(.named("alice"), matches)
    let error = await #expect(throws: StatusError.self) {
      _ = try await alice.commit(CommitRequest(mutations: [claim]))
    }
    #expect(error?.code == .failedPrecondition)
    try await fixture.expectWriteDenied(.named("alice"), matches.replacing("allow read;", with: ""), claim)
  }

  @Test("a verification is a read")
  func verify() async throws {
    try await fixture.set("notes/a", ["owner": .string("alice")])
    let verification = Mutation(key: key("notes/a"), operation: .verify, precondition: .exists(true))
    _ = try await fixture.session(.named("alice"), RulesFixture.owned).commit(CommitRequest(mutations: [verification]))
    try await fixture.expectWriteDenied(.named("bob"), RulesFixture.owned, verification)
  }

  @Test("getAfter sees the documents after all writes of the request, and get those before")
  func after() async throws {
    let matches = """
      match /rooms/{id} {
        allow create: if getAfter(/databases/$(database)/documents/members/$(id)).data.user == request.auth.uid
          && !exists(/databases/$(database)/documents/members/$(id));
      }
      match /members/{id} { allow write: if existsAfter(/databases/$(database)/documents/rooms/$(id)); }
      """
    let alice = try fixture.session(.named("alice"), matches)
    let room = Mutation.set(key("rooms/1"), [:])
    let member = Mutation.set(key("members/1"), ["user": .string("alice")])
    try await fixture.expectWriteDenied(.named("alice"), matches, room)
    try await fixture.expectWriteDenied(.named("alice"), matches, member)
    try await fixture.expectWriteDenied(
      .named("alice"), matches, room, .set(key("members/1"), ["user": .string("bob")]))
    _ = try await alice.commit(CommitRequest(mutations: [room, member]))
    #expect(try await fixture.storage.storage.documents(for: [key("members/1")], at: nil).documents[0].isFound)
  }

  @Test("nobody locks what it may not read", arguments: [TransactionIsolation.pessimistic, .optimistic])
  func locks(isolation: TransactionIsolation) async throws {
    try await fixture.set("notes/a", ["owner": .string("alice")])
    await fixture.expectDenied {
      _ = try await fixture.session(.named("bob"), RulesFixture.owned).beginTransaction(isolation)
    }
    // In development users have transactions, as with the emulator.
    let access = AccessRules(
      try RulesFixture.rules(RulesFixture.owned), isDevelopment: true, clock: fixture.storage.clock.clock)
    let bob = fixture.session(.named("bob"), access)
    let transaction = try await bob.beginTransaction(isolation)
    for read in [Access.get([key("notes/a")]), .list(Query(path: path("notes")))] {
      let error = await #expect(throws: StatusError.self) { _ = try await bob.read(read, in: transaction) }
      #expect(error?.code == .permissionDenied)
    }
    #expect(fixture.storage.database.registry.use().reads == 0)
    try await bob.rollback(transaction)
  }
}
