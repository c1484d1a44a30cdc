internal import HearthCache
internal import HearthModel

/// The consequences of what the membership of a shared cache decides.
extension SyncEngine {
  /// Carries out actions of the membership, in order.
  func follow(_ actions: [CacheMembership.Action]) {
    for action in actions {
      switch action {
      case .emit(let action): emit(action)
      case .ask: follow(membership.ask(in: localStore))
      case .answerReads:
        // What a read would be shown may be behind the notices.
        if !retries.holds(.synchronizeViews), membership.primaryWatch.wasHeard(at: now) {
          follow(views.signOfLifeWasGiven())
        }
      case .countAsOffline: follow(link.setOnlineState(.offline))
      case .showSharedState: showSharedOnlineState()
      case .loseLease: loseLease()
      case .stepDown: stepDown()
      case .lookForNews: lookForNews()
      case .lookAfterRole: follow(membership.lookAfterRole(clientState, in: localStore))
      case .takeFreeLease: if localStore.leaseIsFree { emit(.startTimer(.clientMetadataRefresh, after: .zero)) }
      case .storeAnswers: storeAnswers()
      case .giveBackLease: follow(membership.giveBackLease(in: localStore))
      case .rejoin: emit(retries.append(.rejoin))
      case .move(let targets):
        for (former, target) in targets {
          views.move(former, to: target)
          queryRuns.move(former, to: target)
        }
      case .sendOn: fillWritePipeline()
      case .retry(let operation, let isDue): emit(retries.appendOnce(operation, isDue: isDue))
      case .giveUp(let operation): retries.remove(operation)
      }
    }
  }
}
