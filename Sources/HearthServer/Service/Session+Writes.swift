internal import HearthModel
internal import HearthRPC
internal import HearthWire

extension Session {
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
}
