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
    assert(keepsBases || views.isEmpty, "batch \(batchID) has views of documents that no rule for conflicts contains")
    assert(
      Set(views.keys).isSubset(of: keys), "batch \(batchID) has views of documents that it does not change")
  }
}
