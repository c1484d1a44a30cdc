import HearthCache
import HearthModel
import HearthSync

/// A history in which several clients edit the same few documents, mostly offline, under one rule for conflicts.
///
/// Each edit adds a token of its own to a document. In the end every token is somewhere that nobody has deleted on purpose: a token is
/// gone only if a client that saw it has deleted the document.
final class ConflictSimulation {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  struct Edit {
    /// What it adds; empty for a deletion.
    var tokens: [String]
    var client: Int

    var isDeletion: Bool { tokens.isEmpty }
  }

  enum Kind: CaseIterable {
    case mergeFields, keepBoth, ask

    var policy: ConflictPolicy {
      switch self {
      case .mergeFields: .mergeFields(prefersRemote: false)
      case .keepBoth: .keepBoth
      case .ask: .ask(resolver: 0)
      }
    }
  }

  let kind: Kind
  let rules: ConflictRules
  let backendKnowsLabels: Bool
  /// The client that has no listener, so that it hears of other edits only by conflicts; 0 for none.
  let deafClient: Int
  var generator: SeededGenerator
  var backend = SimulatedBackend()
  private(set) var trace: [String] = []
  private let keepsTrace: Bool
  private var problem: Failure?
  private var clients: [ConflictClient] = []
  private var lastToken = 0
  /// The tokens of edits, and those that a client has deleted after it saw them.
  private var tokens: Set<String> = []
  private var deleted: Set<String> = []
  private var increments = 0
  private var hasWithdrawn = false

  static let keys = ["x", "y"].map { DocumentKey.conflicting($0) }

  init(seed: UInt64, rules: ConflictRules? = nil, keepsTrace: Bool = false) throws {
    generator = SeededGenerator(seed: seed)
    kind = Kind.allCases[Int(seed % 3)]
    self.rules = rules ?? ConflictRules([ConflictRule(.collection(ResourcePath(["c"])), kind.policy)])
    backendKnowsLabels = generator.chance(60)
    backend.remembersRefusals = false
    deafClient = generator.chance(20) ? 1 : 0
    self.keepsTrace = keepsTrace
    for number in 1...2 { clients.append(try ConflictClient(in: self, number: number)) }
  }

  func note(_ text: @autoclosure () -> String) {
    if keepsTrace { trace.append(text()) }
  }

  func fail(_ text: String) {
    problem = problem ?? Failure(description: text)
  }

  // MARK: - Running

  static func run(seed: UInt64, rules: ConflictRules? = nil) throws {
    do {
      try ConflictSimulation(seed: seed, rules: rules).run()
    } catch {
      let again = try ConflictSimulation(seed: seed, rules: rules, keepsTrace: true)
      _ = Result { try again.run() }
      let last = again.trace.filter { !$0.contains("noChange") }.suffix(400).map { String($0.prefix(400)) }.joined(
        separator: "\n  ")
      throw Failure(description: "seed \(seed) (\(again.kind)): \(error)\n  \(last)")
    }
  }

  private func run() throws {
    for _ in 0..<60 {
      try step()
      if let problem { throw problem }
    }
    try settle()
    try checkEnd()
    if let problem { throw problem }
  }

  private func step() throws {
    let client = generator.pick(clients)
    switch Int.random(in: 0..<100, using: &generator) {
    case 0..<25: try edit(client)
    case 25..<30: client.switchNetwork(on: !client.isNetworkEnabled)
    case 30..<33: try client.restart()
    case 33..<36: client.breakStreams()
    case 36..<46: client.sendSnapshot()
    case 46..<50: _ = client.fireNextTimer()
    case 50..<55: answer(client, mayFail: true)
    case 55..<57: client.retryNow()
    case 57..<60: try client.withdrawOne(evenIfSent: generator.chance(70))
    case 60..<62: client.changeUser()
    default: _ = client.advance(succeeds: generator.chance(90))
    }
  }

  /// Everything works and is delivered, until nothing is left to do.
  private func settle() throws {
    for client in clients where !client.isNetworkEnabled { client.switchNetwork(on: true) }
    try comeToRest()
    for client in clients { client.changeUser() }
    try comeToRest()
  }

  private func comeToRest() throws {
    for round in 0..<400 {
      var isBusy = false
      for client in clients {
        while client.advance() { isBusy = true }
        if !client.questions.isEmpty {
          answer(client, mayFail: false)
          isBusy = true
        }
        if try !client.isInTouch || !client.store.pendingBatches().isEmpty {
          isBusy = true
          client.retryNow()
          _ = client.fireNextTimer()
        }
        client.sendSnapshot()
        while client.advance() {}
      }
      if !isBusy, round > 5 { return }
    }
    fail("the clients do not come to rest")
  }

  // MARK: - Edits

  private func nextToken(_ client: ConflictClient) -> String {
    lastToken += 1
    return "t\(lastToken)-\(client.number)"
  }

  private func edit(_ client: ConflictClient) throws {
    let key = generator.pick(Self.keys)
    let view = try client.view(of: key)
    let fields = view.isFound ? try view.fields.decoded() : nil
    let token = nextToken(client)
    let path = FieldPath.made(of: ["tokens", token])
    tokens.insert(token)
    switch Int.random(in: 0..<10, using: &generator) {
    case 0 where fields != nil:
      // What the client sees goes with its document.
      let seen = try Self.tokens(in: view)
      deleted.formUnion(seen)
      tokens.remove(token)
      return client.write([.delete(key)], Edit(tokens: [], client: client.number))
    case 1...4 where fields != nil && kind != .keepBoth:
      let patch = Mutation.patch(
        key, MapValue(["tokens": .map([token: .boolean(true)])]), mask: FieldMask([path]),
        transforms: generator.chance(30) ? [increment()] : [])
      client.write([patch], Edit(tokens: [token], client: client.number))
    case 5 where fields != nil:
      // Two documents at once, or none of them.
      let other = generator.pick(Self.keys.filter { $0 != key })
      let second = try set(other, client)
      tokens.insert(second.token)
      let first = try set(key, client, token: token)
      client.write(first.mutations + second.mutations, Edit(tokens: [token, second.token], client: client.number))
    default:
      let write = try set(key, client, token: token)
      client.write(write.mutations, Edit(tokens: [token], client: client.number))
    }
  }

  private func increment() -> FieldTransform {
    increments += 1
    return FieldTransform(path: FieldPath.made(of: ["n"]), operation: .increment(.integer(1)))
  }

  /// Writes the whole document as the client sees it, with one token more.
  private func set(
    _ key: DocumentKey, _ client: ConflictClient, token: String? = nil
  ) throws -> (mutations: [Mutation], token: String) {
    let token = token ?? nextToken(client)
    let view = try client.view(of: key)
    var fields = view.isFound ? try view.fields.decoded() : MapValue()
    fields.set(.boolean(true), at: FieldPath.made(of: ["tokens", token]))
    fields.set(.string("\(client.number)"), at: FieldPath.made(of: ["author"]))
    return ([.set(key, fields)], token)
  }

  private static func tokens(in document: Document) throws -> Set<String> {
    guard document.isFound, case .map(let map)? = try document.fields.decoded()["tokens"] else { return [] }
    return Set(map.entries.map(\.key))
  }

  // MARK: - The application's answers

  private func answer(_ client: ConflictClient, mayFail: Bool) {
    guard let conflict = client.questions.first?.conflict else { return }
    if mayFail, generator.chance(30) {
      let failures: [Result<ConflictAnswer, StatusError>] = [
        .failure(StatusError(code: .unknown, message: "the resolver has failed")),
        .success(.write([.set(.conflicting("elsewhere"), [:])])), .success(.write([])),
      ]
      return client.answerQuestion(generator.pick(failures))
    }
    client.answerQuestion(.success(.write([union(conflict)])))
  }

  /// All tokens of both sides, also if one of them has deleted the document.
  private func union(_ conflict: DocumentConflict) -> Mutation {
    var fields = (conflict.remote.isFound ? try? conflict.remote.fields.decoded() : nil) ?? MapValue()
    let local = (conflict.local.isFound ? try? conflict.local.fields.decoded() : nil) ?? MapValue()
    for entry in local.entries {
      if case .map(let mine) = entry.value, case .map(let theirs)? = fields[entry.key] {
        var both = theirs
        for entry in mine.entries { both[entry.key] = entry.value }
        fields[entry.key] = .map(both)
      } else {
        fields[entry.key] = entry.value
      }
    }
    return .set(conflict.remote.key, fields)
  }

  // MARK: - The end

  /// The tokens of an edit that was taken back may be gone, or not.
  func wasWithdrawn(_ edit: Edit) {
    tokens.subtract(edit.tokens)
    hasWithdrawn = true
  }

  func ended(_ edit: Edit, _ error: StatusError?) {
    guard let error else { return }
    // Only a deletion gives way, and an update of what another client has deleted meanwhile in its eyes.
    if edit.isDeletion, error.code == .aborted || error.code == .cancelled { return }
    // An update of a document whose creation was taken back has nothing to change.
    if error.code == .cancelled || error.code == .notFound && hasWithdrawn { return wasWithdrawn(edit) }
    fail("the edit \(edit.tokens) of client \(edit.client) ended with \(error)")
  }

  private func checkEnd() throws {
    for client in clients { try client.checkEnd() }
    var present: Set<String> = []
    for document in backend.run(ConflictClient.query) {
      present.formUnion(try Self.tokens(in: document))
      // A write that was taken back although it was sent may have changed a copy.
      let copies = document.key.canonicalString.count { $0 == "~" }
      if copies > 1, !hasWithdrawn { fail("\(document.key) is a copy of a copy") }
    }
    let lost = tokens.subtracting(present).subtracting(deleted)
    if !lost.isEmpty { fail("lost: \(lost.sorted())") }
  }
}

extension DocumentKey {
  /// A document of the collection that all clients edit.
  fileprivate static func conflicting(_ id: String) -> DocumentKey {
    (try? DocumentKey(ResourcePath(["c", id])))!
  }
}

extension FieldPath {
  fileprivate static func made(of segments: [String]) -> FieldPath {
    (try? FieldPath(segments))!
  }
}
