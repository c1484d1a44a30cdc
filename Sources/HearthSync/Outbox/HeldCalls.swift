internal import HearthCache
internal import HearthModel

/// A local write that waits to be stored, for the user who was signed in when it was made.
struct HeldWrite: Sendable {
  fileprivate(set) var write: LocalWrite
  let owner: String?
  /// The mutations of the write. Those of a refused write that is submitted again; nil if that could not be read.
  fileprivate(set) var mutations: [Mutation]?
  /// The number of damaged files that have refused it.
  fileprivate(set) var damagedFileCount = 0
  /// The fate of the write in the file. Nil if it must be looked up before the write is stored, because its commit, or only the sync after
  /// it, has failed.
  fileprivate(set) var fate: LocalStore.WriteFate? = .unknown

  /// A write that meets damage in file after file is refused: it may be the write itself that no file takes.
  static let damagedFileLimit = 10
}

/// A listener that could not begin, because another process holds the file.
struct HeldListen: Sendable {
  var id: ListenerID
  var query: Query
  var options: ListenOptions
}

/// The writes and listeners that wait in memory, because another process holds the file or because it is damaged and is about to be
/// replaced.
///
/// Writes are stored in order. One commit stores as many writes of one user as are known to have met no damage:
///
/// | attempt | of a group | of one write |
/// |---|---|---|
/// | stored | removed | removed |
/// | failed: the file is busy | all wait | waits |
/// | failed: the file is replaced | counted for each; all wait | counted; waits, or is given up at the limit |
/// | failed for another reason | each of the group is tried alone | is given up |
///
/// A write that met damage may be in the file nevertheless. So it is looked up before it is stored again (``identitiesToLookUp``).
struct HeldCalls {
  /// The reason why held writes could not be stored.
  enum Failure {
    /// Another process holds the file, or the client is about to end.
    case fileIsBusy
    /// Damage was found, and another file takes the place of this one.
    case fileIsReplaced
    /// One of the writes itself.
    case write
  }

  /// The next step after a failure.
  enum Step: Equatable {
    /// All wait for the next attempt.
    case wait
    /// The next group is tried.
    case goOn
    /// This write is stored by no file. It waits no more.
    case giveUp(LocalWrite)
  }

  private static let groupSize = 256

  /// In the order in which they were made.
  private(set) var writes: [HeldWrite]
  /// The documents under rules for conflicts that the writes change, of each of their users.
  private var documentsUnderRules: [HeldDocuments] = []
  /// In the order in which they came.
  private(set) var listens: [HeldListen] = []
  /// The number of writes, from the first one on, that are stored alone, because one of them may refuse to be stored with others.
  private var singleCount = 0
  /// The monotonic time before which no read waits for the process that holds the file.
  private var readsRestUntil = Duration.zero

  init() {
    writes = []
  }

  /// - Parameter writes: The writes that an earlier engine has left.
  init(takingOver writes: [HeldWrite]) {
    self.writes = writes
    for write in writes { documentsUnderRules[documentsIndex(of: write.owner)].takeOver(write) }
    for index in writes.indices where writes[index].damagedFileCount > 0 { self.writes[index].fate = nil }
  }

  var isEmpty: Bool { writes.isEmpty && listens.isEmpty }

  /// True if a write of the user changes a document in the query's collections, or may: the documents of a refused write that is submitted again
  /// are known only to the file.
  func holdsWrite(of user: String?, in query: Query) -> Bool {
    let scope = CollectionScope(of: query)
    return writes.contains { held in
      LocalStore.isSameUser(held.owner, user)
        && (held.write.resubmits != nil
          || held.write.mutations.contains { scope.contains($0.key) || query.documentAtPath == $0.key })
    }
  }

  // MARK: - Writes

  /// - Parameters:
  ///   - damagedCount: The number of them, from the first one on, that have just met a damaged file.
  ///   - seen: Returns a write as its author sees it.
  mutating func hold(
    _ more: [LocalWrite], of owner: String?, damagedCount: Int = 0,
    seen: (LocalWrite, _ author: String?) -> LocalStore.SeenWrite
  ) {
    assert(damagedCount <= more.count, "\(damagedCount) of \(more.count) writes have met a damaged file.")
    let documents = documentsIndex(of: owner)
    if documentsUnderRules[documents].lacksWrites { readAgain(of: owner) { seen($0, owner) } }
    for (index, write) in more.enumerated() {
      let seen = seen(write, owner)
      var held = HeldWrite(
        write: write, owner: owner, mutations: seen.mutations, damagedFileCount: index < damagedCount ? 1 : 0)
      let earlier = writes.lazy.filter { LocalStore.isSameUser($0.owner, owner) }
      held.write.seen = documentsUnderRules[documents].add(held, seen.documents, behind: earlier)
      writes.append(held)
    }
  }

  /// Looks for the refused writes that could not be read when they were submitted again: further writes are based on them.
  private mutating func readAgain(of owner: String?, _ seen: (LocalWrite) -> LocalStore.SeenWrite) {
    let documents = documentsIndex(of: owner)
    documentsUnderRules[documents].lacksWrites = false
    for index in writes.indices
    where writes[index].mutations == nil && LocalStore.isSameUser(writes[index].owner, owner) {
      let seen = seen(writes[index].write)
      writes[index].mutations = seen.mutations
      documentsUnderRules[documents].takeOver(writes[index], seen.documents.keys)
    }
  }

  private mutating func documentsIndex(of owner: String?) -> Int {
    let known = documentsUnderRules.firstIndex { LocalStore.isSameUser($0.owner, owner) }
    if known == nil { documentsUnderRules.append(HeldDocuments(of: owner)) }
    return known ?? documentsUnderRules.count - 1
  }

  /// The writes to store next with one commit; empty if none wait.
  var nextGroup: [HeldWrite] {
    guard let first = writes.first else { return [] }
    guard singleCount == 0 else { return [first] }
    let group = writes.prefix(Self.groupSize).prefix {
      LocalStore.isSameUser($0.owner, first.owner) && $0.damagedFileCount == 0
    }
    // One that met damage may be what no file takes.
    return group.isEmpty ? [first] : Array(group)
  }

  /// The next group was stored.
  mutating func groupStored() {
    removeFirst(nextGroup.count)
  }

  /// The next group could not be stored.
  mutating func groupFailed(_ failure: Failure) -> Step {
    let group = nextGroup
    switch failure {
    case .fileIsBusy:
      singleCount = 0
      return .wait
    case .fileIsReplaced where group.count > 1 || group[0].damagedFileCount < HeldWrite.damagedFileLimit:
      for index in group.indices { writes[index].damagedFileCount += 1 }
      singleCount = 0
      return .wait
    case .write where group.count > 1:
      singleCount = group.count
      return .goOn
    case .fileIsReplaced, .write:
      removeFirst(1)
      return .giveUp(group[0].write)
    }
  }

  private mutating func removeFirst(_ count: Int) {
    writes.removeFirst(count)
    if writes.isEmpty { documentsUnderRules = [] }
    singleCount = max(singleCount - count, 0)
  }

  // MARK: - Writes that may be in the file

  /// The writes that may be in the file although their commit has failed, because only the sync after it did. No write whose commit was not
  /// tried can be in the file.
  var identitiesToLookUp: Set<BatchIdentity> {
    Set(writes.lazy.filter { $0.fate == nil }.compactMap(\.write.identity))
  }

  /// Takes the fates of the writes that were looked up in the file, and removes the writes that are stored there, or were sent from there
  /// by another client.
  ///
  /// - Returns: The writes that were removed, each with its fate.
  mutating func lookedUp(_ fates: [BatchIdentity: LocalStore.WriteFate]) -> [HeldWrite] {
    for index in writes.indices where writes[index].fate == nil {
      writes[index].fate = writes[index].write.identity.flatMap { fates[$0] } ?? .unknown
    }
    let found = writes.filter { $0.fate != .unknown }
    writes.removeAll { $0.fate != .unknown }
    // Should the next commit fail as well, and another client send the write, it is found by its outcome. A caller without a receipt takes no
    // notice.
    for index in writes.indices where writes[index].damagedFileCount > 0 { writes[index].write.keepsOutcome = true }
    return found
  }

  /// The writes could not be looked up in a file that is replaced.
  ///
  /// - Returns: The writes that are given up because the look-up has failed in file after file.
  mutating func lookUpFailed() -> [WriteID] {
    for index in writes.indices where writes[index].fate == nil { writes[index].damagedFileCount += 1 }
    let isLost = { (held: HeldWrite) in held.fate == nil && held.damagedFileCount > HeldWrite.damagedFileLimit }
    defer { writes.removeAll(where: isLost) }
    return writes.filter(isLost).map(\.write.id)
  }

  /// Gives the writes the identities of the refused batches that they repeat.
  ///
  /// - Parameter identity: Returns the identity of an owner's refused batch, `.some(nil)` for a batch without one; nil if the batch cannot be
  ///   found.
  /// - Returns: The writes whose batch cannot be found. They wait no more.
  mutating func identify(_ identity: (BatchID, _ owner: String?) -> BatchIdentity??) -> [WriteID] {
    var lost: [WriteID] = []
    writes = writes.compactMap { held in
      guard let batchID = held.write.resubmits, held.write.resubmitsIdentity == nil else { return held }
      guard let identity = identity(batchID, held.owner) else {
        lost.append(held.write.id)
        return nil
      }
      var held = held
      held.write.resubmitsIdentity = identity
      return held
    }
    return lost
  }

  // MARK: - Listeners

  func holds(_ listener: ListenerID) -> Bool { listens.contains { $0.id == listener } }

  mutating func hold(_ listen: HeldListen) {
    assert(!holds(listen.id), "Listener \(listen.id.rawValue) waits twice.")
    listens.append(listen)
  }

  mutating func remove(_ listener: ListenerID) {
    listens.removeAll { $0.id == listener }
  }

  /// Takes all listeners, which begin now.
  mutating func takeListens() -> [HeldListen] {
    defer { listens = [] }
    return listens
  }

  // MARK: - Reads

  /// An attempt has waited for the file in vain.
  ///
  /// Nothing else is handled in that time. So for as long as it may have taken no read waits like this again. The engine does not know how
  /// long it was, only how long it was at most.
  mutating func noteVainWait(now: Duration, busyTimeout: Duration) {
    readsRestUntil = now + busyTimeout * 2
  }

  /// True if a read may wait for the process that holds the file.
  func readsMayWait(now: Duration) -> Bool { now >= readsRestUntil }

  func assertInvariants() {
    assert(singleCount == 0, "\(singleCount) writes are stored alone, although no attempt is under way.")
    assert(
      Set(listens.map(\.id)).count == listens.count, "A listener waits twice: \(listens.map(\.id.rawValue)).")
  }
}
