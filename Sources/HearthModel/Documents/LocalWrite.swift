/// Names one write whose completion is reported; chosen by the caller.
package struct WriteID: Hashable, Sendable {
  package var rawValue: Int

  package init(rawValue: Int) {
    self.rawValue = rawValue
  }
}

/// One write of the user, which becomes a batch of its own.
package struct LocalWrite: Equatable, Sendable {
  /// Its completion is reported under this name. The cache does not keep it.
  package var id: WriteID
  package var mutations: [Mutation]
  /// The time that local estimates of server timestamps show.
  package var localWriteTime: Timestamp
  /// Newly drawn for this write, so that a backend that knows labels commits it once; nil if it gets no label.
  package var identity: BatchIdentity?
  /// True if the caller is told when the write is saved, and its outcome is kept under its identity.
  package var keepsOutcome: Bool
  /// The refused batch whose mutations are queued again, in place of `mutations`; it leaves the list of those.
  package var resubmits: BatchID?
  /// The identity of the refused batch; nil to go by its number alone.
  package var resubmitsIdentity: BatchIdentity?
  /// For a write that has waited in memory: its documents under rules for conflicts as its author saw them. Nil for a write that is stored
  /// when it is made, over what its author sees.
  package var seen: [DocumentKey: SeenDocument]?

  /// - Parameter id: The default is for callers that hear of no completion.
  package init(
    id: WriteID = WriteID(rawValue: 0), mutations: [Mutation], localWriteTime: Timestamp,
    identity: BatchIdentity? = nil, keepsOutcome: Bool = false, resubmits: BatchID? = nil,
    resubmitsIdentity: BatchIdentity? = nil
  ) {
    self.id = id
    self.mutations = mutations
    self.localWriteTime = localWriteTime
    self.identity = identity
    self.keepsOutcome = keepsOutcome
    self.resubmits = resubmits
    self.resubmitsIdentity = resubmitsIdentity
  }
}
