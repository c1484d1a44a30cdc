internal import HearthModel

/// One request's writes and the conditions under which they apply.
struct CommitRequest: Sendable {
  /// Applied in order; the same document may appear several times.
  var mutations: [Mutation]
  /// The reads of the optimistic transaction that the commit ends.
  var reads: TransactionReads?
  /// The pessimistic transaction that the commit ends, if it has read something. Its locks do not stop its writes.
  var owner: LockTable.Owner?
  /// A commit with the same label is applied only once: a repetition gets the answer of the first.
  var label: RequestLabel?
  /// True for a request with one write whose outcome is to have the document that it leaves.
  var returnsDocument = false

  init(
    mutations: [Mutation], reads: TransactionReads? = nil, owner: LockTable.Owner? = nil, label: RequestLabel? = nil,
    returnsDocument: Bool = false
  ) {
    self.mutations = mutations
    self.reads = reads
    self.owner = owner
    self.label = label
    self.returnsDocument = returnsDocument
  }
}
