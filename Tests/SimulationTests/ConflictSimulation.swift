import EngineHarness
import HearthCache
import HearthModel
import HearthSync

/// A history in which several clients edit the same few documents, mostly offline, under rules for conflicts.
///
/// Each edit adds a token of its own to a document, and some count a counter up that no rule contains. Under any rules, and any changes of
/// them, a backend that knows labels commits each batch once, as it was sent first, and each caller is told once. As long as every process
/// has the same rules, every token is in the end somewhere that nobody has deleted on purpose: a token is gone only if a client that saw it
/// has deleted the document.
final class ConflictSimulation {
  typealias Failure = Simulation.Failure

  struct Edit {
    /// The tokens that it adds; empty for a deletion.
    var tokens: [String]
    var client: Int

    var isDeletion: Bool { tokens.isEmpty }
  }

  let history: ConflictHistory
  var generator: HistoryGenerator
  var backend = SimulatedBackend()
  var ledger = ConflictLedger()
  private var edits: [BatchIdentity: Edit] = [:]
  private(set) var clients: [ConflictClient] = []

  private(set) var trace: [String] = []
  private let keepsTrace: Bool
  private var problem: Failure?

  var lastToken = 0
  /// The tokens of edits, and those that a client has deleted after it saw them.
  var tokens: Set<String> = []
  var deleted: Set<String> = []
  private var hasWithdrawn = false
  private var hasUnreadableBases = false
  /// True if the history says no more that each token stays.
  var mayLoseTokens: Bool

  static let keys = ["x", "y"].map { DocumentKey.conflicting($0) }

  init(seed: UInt64, rules: ConflictRules? = nil, keepsTrace: Bool = false) throws {
    generator = HistoryGenerator(seed: seed)
    history = ConflictHistory(seed: seed, rules: rules)
    backend.remembersRefusals = false
    mayLoseTokens = history.changesRules
    self.keepsTrace = keepsTrace
    let device = try ConflictDevice(history.place)
    clients.append(try ConflictClient(in: self, number: 1, on: device))
    if history.place == .shared { clients.append(try ConflictClient(in: self, number: 2, on: device)) }
    clients.append(try ConflictClient(in: self, number: clients.count + 1, on: ConflictDevice(.memory)))
  }

  func note(_ text: @autoclosure () -> String) {
    if keepsTrace { trace.append(text()) }
  }

  func fail(_ text: String) {
    problem = problem ?? Failure(description: text)
  }

  func check() throws {
    if let problem { throw problem }
    if let problem = ledger.problem { throw Failure(description: problem) }
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
      throw Failure(description: "seed \(seed) (\(again.history)): \(error)\n  \(last)")
    }
  }

  func run() throws {
    defer { for client in clients { client.close() } }
    for number in 0..<(history.place == .shared ? 90 : 60) {
      try step()
      try check()
      if keepsTrace || number.isMultiple(of: 8) { try checkInvariants() }
    }
    try settle()
    try checkEnd()
    try check()
    try checkInvariants()
  }

  /// The rows of each cache keep their rules, unless something has damaged them.
  private func checkInvariants() throws {
    for client in clients where !client.device.wasDamaged {
      guard let violation = try CacheInvariants.violations(in: client.store).first else { continue }
      throw Failure(description: "the cache of client \(client.number): \(violation)")
    }
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
    case 60..<62 where !client.device.isHeld: client.changeUser()
    case 62..<64: try release(client)
    case 64..<67 where client.device.place == .file: try damage(client)
    case 64..<72 where client.device.place == .shared: passTime(client)
    case 72..<78 where client.isComparing: try editMeanwhile(client)
    case 78..<81 where client.device.place == .shared && !client.device.isHeld: try editWithLockedFile(client)
    case 81..<84 where client.device.place == .shared: try sleep(client)
    case 84..<(client.device.isHeld ? 90 : 86) where client.device.place == .shared: try holdOrFree(client.device)
    default: _ = client.advance(succeeds: generator.chance(90))
    }
  }

  /// A process ends between a commit and its answer, and the next one is perhaps that of another release.
  private func release(_ client: ConflictClient) throws {
    client.loseAnswer()
    try client.restart()
  }

  /// The user goes on while a conflict is open: cancels a write, and makes another one.
  private func editMeanwhile(_ client: ConflictClient) throws {
    if generator.chance(30) { try client.withdrawOne(evenIfSent: true) }
    try edit(client)
  }

  /// Something in the file becomes unreadable, before the next process begins or while this one runs.
  private func damage(_ client: ConflictClient) throws {
    let damage = generator.pick(ConflictDevice.Damage.allCases)
    note("damage on the device of client \(client.number): \(damage)")
    let deletes = try client.allPendingBatches().contains { $0.mutations.contains { $0.operation == .delete } }
    func damageFile() throws {
      let losesBases = try client.device.damage(damage, &generator)
      // A deletion with an unknown base is carried out whatever is there.
      if losesBases, deletes { mayLoseTokens = true }
    }
    if damage == .unreadableBase { hasUnreadableBases = true }
    guard generator.chance(50) else { return try damageFile() }
    let bases = hasUnreadableBases ? [] : try client.device.bases()
    try client.restart(after: damageFile) {
      // A salvage keeps them.
      if damage == .lostTable, !hasUnreadableBases, try client.device.bases() != bases {
        fail("after a salvage it is not known any more the bases of writes: \(bases)")
      }
    }
  }

  /// The clients of a device make edits that they cannot store at once, and the others store theirs first, or while these are stored.
  private func editWithLockedFile(_ client: ConflictClient) throws {
    note("the file of client \(client.number) is locked")
    let neighbours = clients.filter { $0.device === client.device }
    try client.device.withFileHeld {
      try edit(client)
      for _ in 0..<Int.random(in: 0...3, using: &generator) { try edit(generator.pick(neighbours)) }
    }
    note("the file is free")
    try others(than: client)
    for neighbour in neighbours { neighbour.storeHeldWrites() }
  }

  /// Another program takes hold of the file of a device, or lets go of it.
  private func holdOrFree(_ device: ConflictDevice) throws {
    note(device.isHeld ? "the file is free" : "another program holds the file")
    if device.isHeld { try device.free() } else { try device.hold() }
  }

  /// The client's process is suspended, perhaps for so long that the others take it for dead.
  private func sleep(_ client: ConflictClient) throws {
    try client.sleep { try others(than: client) }
  }

  private func others(than client: ConflictClient) throws {
    for _ in 0..<Int.random(in: 0...12, using: &generator) {
      let other = generator.pick(clients.filter { $0 !== client })
      switch Int.random(in: 0..<10, using: &generator) {
      case 0..<2: try edit(other)
      case 2, 3: other.sendSnapshot()
      case 4..<6 where other.device.place == .shared: other.fire(.clientMetadataRefresh)
      default: _ = other.advance()
      }
    }
  }

  /// Some seconds go by on a device whose cache several processes use.
  private func passTime(_ client: ConflictClient) {
    for _ in 0..<Int.random(in: 1...8, using: &generator) {
      for other in clients where other.device === client.device { other.fire(.clientMetadataRefresh) }
    }
  }

  func wakeOthers(than client: ConflictClient) {
    for other in clients where other !== client && other.device === client.device { other.isWoken = true }
  }

  // MARK: - The backend

  /// The backend carries out a request of a client, or repeats what it answered before.
  func answer(_ request: SentBatch) -> Result<SimulatedBackend.Commit, StatusError> {
    let (isNew, answer) = backend.commit(request.mutations, label: request.label)
    note("backend: \(isNew ? "" : "again ")\(answer)")
    if isNew, let identity = request.identity, (try? answer.get()) != nil { ledger.committed(identity) }
    return answer
  }

  // MARK: - What becomes of edits

  func nextRelease() -> ConflictHistory.Release { history.nextRelease(&generator) }

  func wrote(_ identity: BatchIdentity, _ mutations: [Mutation], _ edit: Edit) {
    edits[identity] = edit
    ledger.wrote(identity, mutations)
  }

  /// The tokens of an edit that was taken back may be gone, or not.
  func wasWithdrawn(_ identity: BatchIdentity, evenIfSent: Bool) {
    ledger.withdrawn(identity, evenIfSent: evenIfSent)
    forgetTokens(of: identity)
  }

  private func forgetTokens(of identity: BatchIdentity) {
    if let edit = edits[identity] { tokens.subtract(edit.tokens) }
    hasWithdrawn = true
  }

  func ended(_ identity: BatchIdentity, _ error: StatusError?) {
    ledger.ended(identity, isCommitted: error == nil)
    guard let error, let edit = edits[identity] else { return }
    // Only a deletion gives way, and an update of a document that another client has deleted in its view.
    if edit.isDeletion, error.code == .aborted || error.code == .cancelled { return }
    // An update of a document whose creation was taken back has nothing to change.
    if error.code == .cancelled || error.code == .notFound && hasWithdrawn { return forgetTokens(of: identity) }
    // Without a rule the backend has the last word.
    if mayLoseTokens, [.aborted, .notFound].contains(error.code) { return forgetTokens(of: identity) }
    fail("the edit \(edit.tokens) of client \(edit.client) ended with \(error)")
  }

  // MARK: - The end

  /// Everything works and is delivered, until nothing is left to do.
  private func settle() throws {
    note("the end")
    for client in clients {
      try client.device.free()
      client.storeHeldWrites()
    }
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
        if client.device.place == .shared { client.fire(.clientMetadataRefresh) }
        client.fireRetries()
        client.sendSnapshot()
        while client.advance() {}
      }
      try check()
      if !isBusy, round > 5 { return }
    }
    fail("the clients do not come to rest")
  }

  private func checkEnd() throws {
    try check()
    for client in clients { try client.checkEnd() }
    let counter = backend.document(ConflictLedger.counter)
    if history.backendKnowsLabels {
      let value = counter.isFound ? try counter.fields.decoded()["n"] : nil
      if case .integer(let number)? = value { ledger.checkEnd(number) } else { ledger.checkEnd(0) }
    }
    guard !mayLoseTokens else { return }
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
