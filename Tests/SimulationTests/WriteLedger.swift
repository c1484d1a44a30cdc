import Foundation
import HearthModel

/// The users' writes and the backend's answers: every write must take effect exactly once.
struct WriteLedger {
  typealias Answer = Result<SimulatedBackend.Commit, StatusError>

  private struct Write {
    var owner: String?
    var mutations: [Mutation]
    var identity: BatchIdentity
    var commitCount = 0
    /// The backend's latest answer.
    var answer: Answer?
    /// Every commit that the backend has made of it.
    var commits: [SimulatedBackend.Commit] = []
    /// A backend without labels has refused it and has carried it out: two clients have sent it, because the first one was suspended, or counted
    /// as dead.
    var isAnsweredBothWays = false
    /// The cache did not take it.
    var wasRefused = false
    /// The file that held it was replaced or damaged.
    var mayBeLost = false
    /// The name of the cache that it was sent from was damaged, so that its label may change.
    var mayBeDoubled = false
    /// Its user has given it up although it may have been sent.
    var isGivenUp = false
    /// Its outcome is kept.
    var hasReceipt = false
  }

  /// The fate of a write.
  enum Fate {
    case committed, refused, open
  }

  private var writes: [Int: Write] = [:]
  /// The first violation that was found.
  private(set) var problem: String?

  mutating func wrote(_ number: Int, _ mutations: [Mutation], _ identity: BatchIdentity, by owner: String?) {
    writes[number] = Write(owner: owner, mutations: mutations, identity: identity)
  }

  /// The backend has answered.
  ///
  /// - Parameter isNew: True if it carried out the request, and did not only repeat an earlier answer.
  mutating func answered(_ number: Int, _ answer: Answer, isNew: Bool, knowsLabels: Bool) {
    if !knowsLabels, let former = writes[number]?.answer, former.isCommit != answer.isCommit {
      writes[number]?.isAnsweredBothWays = true
    }
    writes[number]?.answer = answer
    if case .success(let commit) = answer, isNew { writes[number]?.commits.append(commit) }
    guard case .success = answer, isNew, var write = writes[number] else { return }
    write.commitCount += 1
    writes[number] = write
    if write.commitCount > 1, knowsLabels, !write.mayBeDoubled { note("write \(number) was committed twice") }
    if write.wasRefused { note("write \(number) was committed, but its user was told that it is not stored") }
  }

  /// The client hears that the write was committed.
  mutating func acknowledged(_ number: Int) {
    guard let write = writes[number] else { return note("write \(number) was answered, but never made") }
    guard write.commitCount == 0 else { return }
    // Two devices with one random generator may write the same under the same name; nobody can tell them apart.
    let twin = writes.values.contains {
      $0.identity == write.identity && $0.mutations == write.mutations && $0.commitCount > 0
    }
    if !twin { note("write \(number) was acknowledged, but is not at the backend: \(write.mutations)") }
  }

  /// The caller hears what became of the write.
  ///
  /// - Parameter isRefused: True if the call completes before the write could be stored.
  mutating func completed(_ number: Int, _ error: StatusError?, isRefused: Bool) {
    guard let write = writes[number] else { return note("write \(number) was completed, but never made") }
    // One that was sent is not told to be lost, but unknown.
    if let error, error.code == .dataLoss || error.code == .unknown, !isRefused {
      if !write.mayBeLost { note("the caller of write \(number) was told that it is lost: \(error.message)") }
      return
    }
    if write.isGivenUp || write.isAnsweredBothWays { return }
    switch (write.answer, error) {
    case (.success, nil), (.failure, .some): break
    case (nil, .some): writes[number]?.wasRefused = true
    case (.success, let error?): note("write \(number) was committed, but its caller was told \(error)")
    case (_, nil): note("write \(number) was completed, but not committed")
    }
  }

  /// The write has left its outbox because its user did not want it any more.
  mutating func withdrawn(_ number: Int, mayBeSent: Bool) {
    guard let write = writes[number] else { return note("write \(number) was taken back, but never made") }
    if mayBeSent {
      writes[number]?.isGivenUp = true
    } else {
      if write.answer != nil { note("write \(number) was taken back although it was at the backend") }
      writes[number]?.wasRefused = true
    }
  }

  mutating func hasReceipt(_ number: Int) {
    writes[number]?.hasReceipt = true
  }

  /// The writes with a receipt.
  var identities: [(identity: BatchIdentity, number: Int)] {
    writes.filter(\.value.hasReceipt).map { ($0.value.identity, $0.key) }.sorted { $0.1 < $1.1 }
  }

  func fate(of number: Int) -> Fate {
    guard let write = writes[number], !write.isGivenUp, !write.mayBeLost, !write.isAnsweredBothWays else {
      return .open
    }
    switch write.answer {
    case .success: return .committed
    case .failure: return .refused
    case nil: return write.wasRefused ? .refused : .open
    }
  }

  /// A folder was replaced that held the write.
  mutating func mayBeLost(_ number: Int) {
    writes[number]?.mayBeLost = true
  }

  /// These bytes of a file were damaged, and the batches in them with them.
  mutating func wereDamaged(_ bytes: Data) {
    for (number, write) in writes where !write.mayBeLost && bytes.range(of: Data(write.identity.bytes)) != nil {
      mayBeLost(number)
    }
  }

  /// The users of the batches, or the list of tables, were damaged.
  mutating func allMayBeLost() {
    for number in writes.keys { mayBeLost(number) }
  }

  mutating func allMayBeDoubled() {
    for number in writes.keys { writes[number]?.mayBeDoubled = true }
  }

  /// The write that goes by this name.
  func number(of identity: BatchIdentity, with mutations: [Mutation]) -> Int? {
    writes.first { $0.value.identity == identity && $0.value.mutations == mutations }?.key
  }

  func mutations(of number: Int) -> [Mutation]? { writes[number]?.mutations }

  func commits(of number: Int) -> [SimulatedBackend.Commit] { writes[number]?.commits ?? [] }

  func owner(of number: Int) -> String? { writes[number]?.owner }

  /// True if the write must be in the outbox: it was stored, was not answered, and its file was not damaged there.
  func isSurelyPending(_ number: Int) -> Bool {
    guard let write = writes[number] else { return false }
    return write.answer == nil && !write.wasRefused && !write.mayBeLost && !write.isGivenUp
  }

  /// The latest write of a document by an owner, if it may have been stored.
  func latest(by owner: String?, of key: DocumentKey) -> (number: Int, mutations: [Mutation])? {
    writes.filter { $0.value.owner == owner && !$0.value.wasRefused && $0.value.mutations.contains { $0.key == key } }
      .max { $0.key < $1.key }.map { ($0.key, $0.value.mutations.filter { $0.key == key }) }
  }

  /// True if a write that must be in an outbox has not been answered.
  var isMissingWrites: Bool { writes.keys.contains(where: isSurelyPending) }

  /// Everything was sent that waited anywhere.
  mutating func checkEnd() {
    for (number, write) in writes.sorted(by: { $0.key < $1.key }) where isSurelyPending(number) {
      note("write \(number) never reached the backend: \(write.mutations)")
    }
  }

  private mutating func note(_ text: String) {
    problem = problem ?? text
  }
}

extension WriteLedger.Answer {
  fileprivate var isCommit: Bool { if case .success = self { true } else { false } }
}
