internal import HearthModel

/// One request's writes and the conditions under which they apply.
struct CommitRequest: Sendable {
  /// Applied in order; the same document may appear several times.
  var mutations: [Mutation]
  /// The reads of the transaction, if the commit ends one.
  var reads: TransactionReads?
  /// A commit with the same label is applied only once: a repetition gets the answer of the first.
  var label: RequestLabel?

  init(mutations: [Mutation], reads: TransactionReads? = nil, label: RequestLabel? = nil) {
    self.mutations = mutations
    self.reads = reads
    self.label = label
  }
}
