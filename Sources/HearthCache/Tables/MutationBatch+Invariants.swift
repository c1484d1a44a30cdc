internal import HearthModel

extension MutationBatch {
  /// Checks a batch that was just made of mutations of the application.
  func assertInvariants() {
    assert(
      Set(baseMutations.map(\.key)).isSubset(of: keys),
      "batch \(batchID) has base values of documents that it does not change"
    )
    assert(
      Set(guards.map { Array($0.keys) } ?? []).isSubset(of: keys),
      "batch \(batchID) has conditions for documents that it does not change")
  }
}
