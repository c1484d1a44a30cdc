import HearthModel
import HearthRules
import TestSupport
import Testing

@testable import HearthServer

/// Commits that are decided step by step have the answer of those whose documents are all read, and all evaluated, first.
@Suite("Decisions on commits")
struct CommitDecisionTests {
  private static let version = SnapshotVersion(microseconds: 1_000)
  private static let rules = """
    match /a/{id} { allow read, write: if true; }
    match /b/{id} { allow get: if resource == null || resource.data.n > 2; allow write: if resource.data.n > 1; }
    match /c/{id} {
      allow get;
      allow create: if request.resource.data.n == 1;
      allow update: if request.resource.data.n >= resource.data.n;
      allow delete: if resource.data.n < 2;
    }
    match /d/{id} {
      allow get: if exists(/databases/(default)/documents/b/$(id));
      allow write: if getAfter(/databases/(default)/documents/c/$(id)).data.n > 1
        || get(/databases/(default)/documents/b/$(id)).data.n == 3 || existsAfter(/databases/(default)/documents/e/$(id));
    }
    match /e/{id} { allow get: if resource.data.n == 2; }
    """

  private struct Generator {
    var random: SeededGenerator

    mutating func key() -> DocumentKey {
      HearthServerTests.key("\(["a", "b", "c", "d", "e"][random.below(5)])/\(random.below(2))")
    }

    mutating func documents() -> [DocumentKey: Document] {
      var documents: [DocumentKey: Document] = [:]
      for _ in 0..<random.below(9) {
        let key = key()
        let version = SnapshotVersion(microseconds: 1 + Int64(random.below(2)))
        documents[key] = .found(key, version: version, fields: EncodedFields(["n": random.below(4).value]))
      }
      return documents
    }

    mutating func request() -> [Mutation] {
      var mutations = (0..<(1 + random.below(4))).map { _ in mutation() }
      // Those that do not go together never get here.
      do { try WriteCombinations.check(&mutations, in: ServerFixture.database) } catch { return [mutations[0]] }
      return mutations
    }

    private mutating func mutation() -> Mutation {
      let (key, n) = (key(), random.below(4).value)
      var mutation: Mutation
      switch random.below(6) {
      case 0, 1: mutation = .set(key, ["n": n])
      case 2: mutation = .patch(key, ["n": n], mask: FieldMask([field("n")]))
      case 3:
        mutation = .patch(key, [:], mask: .empty)
        mutation.transforms = [FieldTransform(path: field("n"), operation: .increment(n))]
      case 4: mutation = .delete(key)
      default: mutation = Mutation(key: key, operation: .verify, precondition: .exists(random.chance(50)))
      }
      if mutation.operation != .verify {
        mutation.precondition =
          switch random.below(8) {
          case 0: .exists(true)
          case 1: .exists(false)
          case 2: .updateTime(SnapshotVersion(microseconds: 1 + Int64(random.below(2))))
          case 3: random.chance(20) ? .updateTime(SnapshotVersion(microseconds: 5_000)) : .none
          default: .none
          }
      }
      return mutation
    }
  }

  // MARK: - The reference

  /// A request, evaluated as a whole before anything is decided.
  private struct Reference {
    let rules: RuleSet
    let documents: [DocumentKey: Document]
    let mutations: [Mutation]

    private func stored(_ key: DocumentKey) -> Document { documents[key] ?? .missing(key, version: .none) }

    private func evaluate(isForGuard: Bool) -> (CommitEvaluation, failure: (index: Int, error: StatusError)?) {
      var evaluation = CommitEvaluation(
        database: ServerFixture.database, version: version, requestTime: version.timestamp, writes: mutations.count,
        isForGuard: isForGuard)
      for (index, mutation) in mutations.enumerated() {
        var mutation = mutation
        if isForGuard { mutation.precondition = .none }
        do {
          try evaluation.apply(mutation) { stored($0) }
        } catch {
          guard let error = error as? StatusError else { return (evaluation, (index, .invalid("\(error)"))) }
          return (evaluation, (index, error))
        }
      }
      return (evaluation, nil)
    }

    private func map(_ document: Document) throws -> RuleMap? {
      document.isFound ? try RuleMap(document.fields) : nil
    }

    private func allows(
      _ method: RuleMethod, _ key: DocumentKey, _ before: Document, _ after: Document,
      _ written: [DocumentKey: Document]
    ) throws -> Bool {
      let names = { (key: DocumentKey) in key.ruleNames(in: ServerFixture.database) }
      let request = RuleRequest(
        method, path: names(key), auth: .null, time: RuleTimestamp(seconds: 0, nanoseconds: 0),
        document: try map(before),
        changed: try map(after), inTransaction: true)
      var states: [LookedUpDocument: DocumentLookup] = [:]
      for (key, document) in documents {
        let fields = try RuleMap(document.fields)
        for isAfterwards in [false, true] {
          states[LookedUpDocument(path: names(key), isAfterwards: isAfterwards)] = .found(fields)
        }
      }
      for (key, document) in written {
        states[LookedUpDocument(path: names(key), isAfterwards: true)] =
          try map(document).map { .found($0) } ?? .removed
      }
      return rules.evaluate(request) { states[$0] ?? .missing }.isAllowed
    }

    /// The code of the refusal, and the documents that the request leaves.
    func answer() throws -> (code: StatusCode?, documents: [DocumentKey: Document]) {
      let (evaluation, failure) = evaluate(isForGuard: false)
      let (unconditional, _) = evaluate(isForGuard: true)
      let changes = Dictionary(unconditional.transitions.map { ($0.key, $0.after) }) { $1 }
      var written: [DocumentKey: Document] = [:]
      for key in mutations.map(\.key) { written[key] = changes[key] ?? stored(key) }
      var isAllowed = true
      for key in Set(mutations.map(\.key)) {
        let (before, after) = (stored(key), written[key] ?? stored(key))
        let isVerified = mutations.allSatisfy { $0.key != key || $0.operation == .verify }
        let method: RuleMethod =
          isVerified ? .get : !after.isFound ? .delete : before.isFound ? .update : .create
        if try !allows(method, key, before, after, written) { isAllowed = false }
      }
      if let failure {
        guard
          try isAllowed
            || mutations[...failure.index].allSatisfy({ mutation in
              let document = stored(mutation.key)
              return try allows(.get, mutation.key, document, document, [:])
            })
        else { return (.permissionDenied, [:]) }
        return (failure.error.code, [:])
      }
      guard isAllowed else { return (.permissionDenied, [:]) }
      return (nil, Dictionary(evaluation.transitions.map { ($0.key, $0.after) }) { $1 })
    }
  }

  @Test(
    "a commit that is decided step by step has the answer of one that is evaluated first", arguments: [true, false])
  func differential(readsFieldsWithHead: Bool) throws {
    let rules = try RulesFixture.rules(Self.rules)
    let check = RuleCheck(
      rules: rules, auth: .null, database: ServerFixture.database, time: Self.version.timestamp, explains: false,
      counter: nil)
    var answers: [StatusCode?: Int] = [:]
    let seeds = SeededGenerator.seeds(3_000)
    for seed in seeds {
      var generator = Generator(random: SeededGenerator(seed: seed))
      let documents = generator.documents()
      var request = CommitRequest(mutations: generator.request())
      request.commitGuard = check
      let expected = try Reference(rules: rules, documents: documents, mutations: request.mutations).answer()
      let reads = DocumentReads(
        head: { key in
          guard let document = documents[key] else {
            return .init(document: .missing(key, version: .none), isComplete: true)
          }
          if readsFieldsWithHead { return .init(document: document, isComplete: true) }
          return .init(document: .found(key, version: document.version, fields: .empty), isComplete: false)
        },
        document: { documents[$0] ?? .missing($0, version: .none) })
      var code: StatusCode?
      var left: [DocumentKey: Document] = [:]
      do {
        let evaluation = try RequestEvaluation(
          request, in: ServerFixture.database, at: Self.version, maximumRewrittenBytes: 1 << 20, metrics: nil
        ).evaluate(reads)
        left = Dictionary(evaluation.transitions.map { ($0.key, $0.after) }) { $1 }
      } catch let error as StatusError {
        code = error.code
      }
      #expect(code == expected.code && left == expected.documents, "seed \(seed): \(request.mutations) on \(documents)")
      answers[code, default: 0] += 1
    }
    guard seeds.count > 1 else { return }
    for code: StatusCode? in [nil, .permissionDenied, .notFound, .alreadyExists, .failedPrecondition, .invalidArgument]
    {
      #expect(answers[code, default: 0] > 10, "\(code as Any): \(answers)")
    }
  }
}
