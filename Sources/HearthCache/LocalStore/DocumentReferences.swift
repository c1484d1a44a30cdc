internal import HearthModel
internal import HearthStore

/// The references to documents that decide about garbage collection: the uses that a transaction marks, and with eager collection the
/// documents that have lost their last reference.
///
/// Its methods run inside a transaction. If it fails, it restores the memory.
final class DocumentReferences {
  /// Restored to its former value when a transaction fails. Kept for eager garbage collection only.
  struct Memory {
    fileprivate var views = ViewReferences()
    fileprivate var edges = ResultEdges()
    /// Documents of views that have ended although the transaction of that has failed. The next one looks at them.
    fileprivate var abandonedKeys: Set<DocumentKey> = []
  }

  /// The state of the running transaction; empty between transactions.
  private struct Step {
    var sequenceNumber: Int64?
    /// Documents that may have lost their last reference. Kept for eager garbage collection only.
    var touchedKeys: Set<DocumentKey> = []
  }

  private let tables: CacheTables
  /// True if documents go as soon as nothing refers to them.
  let isEager: Bool
  private(set) var memory = Memory()
  private var step = Step()

  init(in tables: CacheTables, isEager: Bool) {
    self.tables = tables
    self.isEager = isEager
  }

  // MARK: - Transactions

  /// Begins the part of a transaction.
  func begin(_ name: String) {
    assert(
      step.sequenceNumber == nil && step.touchedKeys.isEmpty,
      "\(name) runs inside another transaction, whose touched documents it would forget")
    step = Step()
  }

  /// Forgets what belonged to the transaction, which has ended.
  func end() { step = Step() }

  func goBack(to former: Memory) { memory = former }

  /// The number under which this transaction marks what it uses, taken when first asked for.
  func sequenceNumber() throws -> Int64 {
    if let number = step.sequenceNumber { return number }
    let number = try tables.globals.takeSequenceNumber()
    step.sequenceNumber = number
    return number
  }

  // MARK: - References

  /// Notes that documents gained or, before, lost a reference: for the eager collector at the end of this transaction,
  /// or with a sequence number for the least-recently-used one.
  func touch(_ keys: some Sequence<DocumentKey>) throws {
    if isEager {
      step.touchedKeys.formUnion(keys)
    } else {
      for key in keys { try tables.uses.markUse(of: key, sequenceNumber: sequenceNumber()) }
    }
  }

  /// Notes that documents have got a pending batch. Call it after the batch is queued: the mark says that they have one.
  func touchEnteredByBatch(_ keys: Set<DocumentKey>) throws {
    guard !isEager else { return }
    for key in keys.sorted() { try tables.uses.markUseByBatch(of: key, sequenceNumber: sequenceNumber()) }
  }

  /// Notes that documents have one pending batch less. It was of use when it was written; the answer counts as another
  /// use where nothing else needs the document.
  ///
  /// So the answer to a write of a document that a target holds, which is the usual case, changes neither the counters
  /// nor the table of uses: two pages less in a durable commit, each 5 to 10 microseconds of processor time.
  func touchLeftByBatch(_ keys: some Sequence<DocumentKey>) throws {
    guard !isEager else { return try touch(keys) }
    for key in keys where try !isNeeded(key) {
      try tables.uses.markUse(of: key, sequenceNumber: sequenceNumber())
    }
  }

  private func isNeeded(_ key: DocumentKey) throws -> Bool {
    try tables.targets.hasTarget(for: key) || tables.queue.hasPendingBatch(for: key)
  }

  /// Adds documents to a target, which counts as a use of them.
  func add(_ keys: [DocumentKey], toTarget targetID: TargetID) throws {
    guard !keys.isEmpty else { return }
    let sequenceNumber = isEager ? 0 : try sequenceNumber()
    for key in keys { try tables.targets.add(key, to: targetID, sequenceNumber: sequenceNumber) }
    if isEager { return try touch(keys) }
    guard try tables.uses.hasUnneeded() else { return }
    for key in keys { try tables.uses.markNeeded(key) }
  }

  // MARK: - Views

  /// Notes the documents that the view of a target has come to show, and those that it shows no longer.
  func viewChanged(of targetID: TargetID, added: Set<DocumentKey>, removed: Set<DocumentKey>) {
    guard isEager else { return }
    memory.views.add(added, target: targetID)
    memory.views.remove(removed, target: targetID)
  }

  func viewBegins(of targetID: TargetID, showing documents: some Sequence<Document>) {
    if isEager { memory.views.add(Set(documents.map(\.key)), target: targetID) }
  }

  /// Ends the references of a target's view, and returns the documents that it showed.
  func endView(of targetID: TargetID) -> Set<DocumentKey> { memory.views.removeAll(target: targetID) }

  /// Ends the references of a target's view if the transaction that was to do it has failed.
  func abandonView(of targetID: TargetID) {
    memory.abandonedKeys.formUnion(endView(of: targetID))
  }

  /// Returns true if a view shows the document. Known with eager garbage collection only.
  func isShown(_ key: DocumentKey) -> Bool { memory.views.contains(key) }

  // MARK: - Collecting

  /// Drops the documents that this transaction touched and that no target, no view and no pending batch of any user
  /// needs. Runs after the transaction has read what it returns, so a view can still show what the cache just lost.
  func collectTouchedDocuments() throws {
    let touchedKeys = step.touchedKeys.union(memory.abandonedKeys)
    guard !touchedKeys.isEmpty else { return }
    assert(isEager, "documents that must be kept until they are old are collected at once")
    memory.abandonedKeys = []
    var kept: KeptDocuments?
    for key in touchedKeys.sorted() {
      if memory.views.contains(key) { continue }
      if try isNeeded(key) { continue }
      if kept == nil { kept = try KeptDocuments(in: tables, memory.edges, within: .unlimited) }
      if try kept?.contains(key) != false { continue }
      try tables.documents.remove(key)
    }
    if let kept { memory.edges = kept.edges }
  }

  // MARK: - Assertions

  /// Checks what holds between transactions, in debug builds only. Costs more the more the views show.
  func assertInvariants() {
    assert(isEager || memory.views.isEmpty, "documents that views show are remembered for nobody")
    memory.views.assertInvariants()
  }
}
