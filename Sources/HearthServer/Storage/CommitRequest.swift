internal import HearthModel

/// One request's writes and the conditions under which they apply.
struct CommitRequest: Sendable {
  /// Applied in order; the same document may appear several times.
  var mutations: [Mutation]
  /// A commit with the same label is applied only once: a repetition gets the answer of the first.
  var label: RequestLabel?
  /// Decides whether the caller may make the commit; nil if it may.
  var commitGuard: (any CommitGuard)?
  /// The commits of different senders take turns, see ``CallSender``.
  var sender = ""
  /// True for a request with one write whose outcome contains the resulting document.
  var returnsDocument = false

  init(mutations: [Mutation], label: RequestLabel? = nil, returnsDocument: Bool = false) {
    self.mutations = mutations
    self.label = label
    self.returnsDocument = returnsDocument
  }
}
