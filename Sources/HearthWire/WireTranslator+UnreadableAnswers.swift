package import HearthModel

extension WireTranslator {
  /// Decodes the answer in `message`. One that cannot be decoded but names its targets is returned as unreadable, so that only these
  /// targets end and the others of the stream continue.
  ///
  /// - Throws: a ``WireError`` if the message cannot be decoded and names no target, so that it is unknown what is missing without it.
  package func decodeNamingTargets(_ message: Google_Firestore_V1_ListenResponse) throws(WireError) -> WatchResponse {
    do throws(WireError) {
      return try decode(message)
    } catch {
      guard let (targetIDs, isTargetChange) = message.concernedTargets, !targetIDs.isEmpty else { throw error }
      var seen: Set<TargetID> = []
      return .unreadable(
        UnreadableWatchMessage(
          targetIDs: targetIDs.filter { seen.insert($0).inserted }, isTargetChange: isTargetChange,
          error: StatusError(
            code: .internal, message: "The backend's answer for this listener cannot be understood: \(error)")))
    }
  }
}

extension Google_Firestore_V1_ListenResponse {
  /// The targets that the message names, some perhaps repeatedly, and whether it is about their state; nil if it holds nothing known.
  fileprivate var concernedTargets: (ids: [TargetID], isTargetChange: Bool)? {
    switch responseType {
    case .targetChange(let change): (change.targetIds, true)
    case .documentChange(let change): (change.targetIds + change.removedTargetIds, false)
    case .documentDelete(let change): (change.removedTargetIds, false)
    case .documentRemove(let change): (change.removedTargetIds, false)
    case .filter(let filter): (filter.targetID == 0 ? [] : [filter.targetID], false)
    case nil: nil
    }
  }
}
