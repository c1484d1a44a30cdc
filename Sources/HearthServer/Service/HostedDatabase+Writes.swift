internal import HearthModel
internal import HearthRPC
internal import HearthWire

extension HostedDatabase {
  /// Decodes the writes of a request that is carried out as a whole, and checks them against the limits.
  ///
  /// - Throws: `StatusError` that names the write by its index if there are several, or says which writes of one document do not go together.
  func checkedMutations(
    of writes: consuming [Google_Firestore_V1_Write]
  ) async throws(StatusError) -> [Mutation] {
    var mutations = try await separateMutations(of: writes)
    try WriteCombinations.check(&mutations, in: id)
    return mutations
  }

  /// After so many writes other calls have their turn: they share a thread for each core.
  private static let writesPerTurn = 64

  /// Decodes the writes of a request, and checks each by itself against the limits. A write is given up when it is decoded, so that a request
  /// is not held twice.
  ///
  /// - Throws: `StatusError` that names the write by its index if there are several.
  func separateMutations(
    of writes: consuming [Google_Firestore_V1_Write]
  ) async throws(StatusError) -> [Mutation] {
    var mutations: [Mutation] = []
    mutations.reserveCapacity(writes.count)
    let count = writes.count
    for index in 0..<count {
      var write = Google_Firestore_V1_Write()
      swap(&write, &writes[index])
      if index > 0, index.isMultiple(of: Self.writesPerTurn) { await Task.yield() }
      do {
        mutations.append(try checkedMutation(of: write))
      } catch {
        let status = StatusError(describing: error)
        guard count > 1 else { throw status }
        throw StatusError(code: status.code, message: "\(status.message) (writes[\(index)])")
      }
    }
    return mutations
  }

  /// Decodes one write and checks it against the limits.
  func checkedMutation(of write: Google_Firestore_V1_Write) throws -> Mutation {
    try WriteLimits.checked(translator.decode(write: write), database: id)
  }

  /// Commits the writes of a request, which may end a transaction.
  ///
  /// - Parameter transaction: empty if there is none.
  func commit(
    _ mutations: [Mutation], endingTransaction transaction: [UInt8]
  ) async throws(StatusError) -> CommitOutcome {
    guard !transaction.isEmpty else { return try await storage.commit(CommitRequest(mutations: mutations)) }
    // Not on the event loop of a brief call: the locks of the transaction are given to those that wait for them.
    return try await withTaskExecutorPreference(globalConcurrentExecutor) {
      () async throws(StatusError) -> CommitOutcome in
      let digest = RequestLabel.digest(of: mutations, in: id)
      return try await transactions.commit(transaction, isWriting: !mutations.isEmpty, digest: digest) {
        (conditions) throws(StatusError) in
        // Reads alone are consistent: they all saw one snapshot, or were locked.
        let reads = mutations.isEmpty ? nil : conditions.reads
        return try await storage.commit(
          CommitRequest(mutations: mutations, reads: reads, owner: conditions.owner))
      }
    }
  }
}
