import HearthCache
import HearthModel
import Testing

@testable import HearthSync

@Suite("Role in a shared cache")
struct CacheMembershipTests {
  private let configuration = SyncConfiguration(clientRefreshInterval: .seconds(1), jitter: { 0 })

  @Test("a client that is alone is primary; one of several becomes it, and ends its watch of the former one")
  func roles() {
    let alone = CacheMembership(isShared: false, configuration: configuration)
    #expect(alone.isPrimary)
    var member = CacheMembership(isShared: true, configuration: configuration)
    #expect(!member.isPrimary)
    _ = member.primaryWatch.endEvent(isAwaited: true)
    let actions = member.becomePrimary(at: .seconds(3), agreements: [:], watched: [])
    #expect(actions == [.emit(.cancelTimer(.onlineStateTimeout))] && member.isPrimary)
    member.turn.end()
    member.stepDown()
    #expect(!member.isPrimary && !member.turn.isEnding)
    member.assertInvariants()
  }

  @Test("what could not be told is owed once, and only while it is of use")
  func owedNotices() {
    var primary = CacheMembership(isShared: false, configuration: configuration)
    #expect(primary.takeOwedNotices().isEmpty)
    for notice in CacheMembership.OwedNotice.allCases { primary.wasNotTold(notice) }
    #expect(primary.owesNotice && primary.takeOwedNotices() == [.forgottenTurns, .sign] && !primary.owesNotice)
    var member = CacheMembership(isShared: true, configuration: configuration)
    for notice in CacheMembership.OwedNotice.allCases { member.wasNotTold(notice) }
    #expect(member.takeOwedNotices() == [.forgottenTurns, .retry] && !member.owesNotice)
    _ = member.primaryWatch.asked(succeeded: true)
    member.wasNotTold(.question)
    #expect(member.takeOwedNotices() == [.question])
  }

  @Test("a client waits one interval for the heir of the lease, three if its own turns were unsuccessful")
  func heir() {
    for (hadFutileTurns, patience) in [(false, 1), (true, 3)] {
      var member = CacheMembership(isShared: true, configuration: configuration)
      func yields(_ isLeft: Bool, at seconds: Int) -> Bool {
        member.yieldsToHeir(isLeftToOther: isLeft, hadFutileTurns: hadFutileTurns, at: .seconds(seconds))
      }
      #expect(yields(true, at: 10) && !yields(true, at: 10 + patience))
      #expect(!yields(false, at: 20) && yields(true, at: 30))
    }
  }
}

@Suite("Decisions on the role in a shared cache")
struct CacheRoleTests {
  private let nextLook = CacheMembership.Action.emit(.startTimer(.clientMetadataRefresh, after: .seconds(1)))

  private func state(waitsToRejoin: Bool = false, waitsToStoreRole: Bool = false) -> CacheMembership.ClientState {
    CacheMembership.ClientState(
      now: .zero, reach: .notNeeded, onlineState: .unknown, isDisabled: false, watchStreamOpenedAt: nil,
      awaitsAnswers: false, hasConflict: false, waitsForApplication: false, servesOthers: false,
      waitsToRejoin: waitsToRejoin, waitsToStoreRole: waitsToStoreRole)
  }

  @Test("a client that does not share its cache has no role to look after")
  func alone() throws {
    let cache = try PartCache()
    var alone = CacheMembership(isShared: false, configuration: SyncConfiguration { 0 })
    #expect(alone.refreshRole(state(), in: cache.store) == [])
    #expect(alone.suspend(in: cache.store) == [] && alone.resume(in: cache.store) == [])
  }

  @Test("the role is stored, unless an attempt at that or to rejoin the others waits")
  func refresh() throws {
    let (_, _, b) = try SharedCache.makePair()
    let member = b.engine.membership
    #expect(member.refreshRole(state(), in: b.store) == [.loseLease, .lookForNews, nextLook])
    #expect(member.refreshRole(state(waitsToRejoin: true), in: b.store) == [])
    #expect(member.refreshRole(state(waitsToStoreRole: true), in: b.store) == [])
  }

  @Test("the timer looks after the role behind the turn with the lease, and starts again in any case")
  func timer() throws {
    let (cache, a, b) = try SharedCache.makePair()
    var member = b.engine.membership
    #expect(member.refreshTimerFired(state(), in: b.store) == [.lookAfterRole])
    #expect(member.lookAfterRole(state(), in: b.store) == [nextLook])
    #expect(member.refreshTimerFired(state(waitsToStoreRole: true), in: b.store) == [nextLook])
    a.post(.shutdown)
    #expect(member.lookAfterRole(state(waitsToStoreRole: true), in: b.store) == [nextLook])
    #expect(
      member.lookAfterRole(state(), in: b.store)
        == [.stepDown, .retry(.becomePrimary, isDue: true), .lookForNews, nextLook])
    withExtendedLifetime(cache) {}
  }

  @Test("a suspended client stores answers, leaves the lease, and may lack answers until it has rejoined")
  func suspension() throws {
    let (_, _, b) = try SharedCache.makePair()
    var member = b.engine.membership
    #expect(member.suspend(in: b.store) == [.storeAnswers, .giveBackLease])
    #expect(member.isSuspended && member.mayLackAnswers)
    #expect(
      member.giveBackLease(in: b.store)
        == [.loseLease, .giveUp(.storeRole), .emit(.cancelTimer(.clientMetadataRefresh))])
    #expect(member.resume(in: b.store) == [.rejoin])
    #expect(!member.isSuspended && member.mayLackAnswers)
    #expect(try member.rejoin([:], state(), in: b.store) == [.move([:]), .loseLease, .lookForNews, nextLook])
    #expect(!member.mayLackAnswers)
  }

  @Test("a secondary client shows the state of a new holder of the lease, and takes a free one")
  func changes() throws {
    let (_, a, b) = try SharedCache.makePair()
    #expect(b.engine.membership.leaseHasChanged(in: b.store) == [.showSharedState, .takeFreeLease])
    #expect(a.engine.membership.leaseHasChanged(in: a.store) == [])
  }
}

@Suite("States that other clients know")
struct PublishedStatesTests {
  private let kept: TargetID = 2
  private let other: TargetID = 4

  /// Publishes, and returns what was stored.
  private func publish(
    _ states: [TargetID: TargetAgreement], _ online: OnlineState = .online, to published: inout PublishedStates
  ) -> (agreements: [TargetID: TargetAgreement], online: OnlineState?) {
    var stored: [TargetID: TargetAgreement] = [:]
    var storedOnline: OnlineState?
    published.publish(states, online, store: { stored = $0 }, storeOnline: { storedOnline = $0 })
    return (stored, storedOnline)
  }

  @Test("only what has changed is published")
  func changes() {
    var published = PublishedStates()
    #expect(!published.holdsAgreements)
    var stored = publish([kept: .complete, other: .open], to: &published)
    #expect(stored.agreements == [kept: .complete, other: .open] && stored.online == .online)
    stored = publish([kept: .complete, other: .complete], to: &published)
    #expect(stored.agreements == [other: .complete] && stored.online == nil)
    #expect(published.holdsAgreements && published.agreeing(among: [kept, other, 6]) == [kept, other])
  }

  @Test("a state that could not be stored is published the next time")
  func failure() {
    struct StoreFailure: Error {}
    var published = PublishedStates()
    #expect(throws: StoreFailure.self) {
      try published.publish([kept: .complete], .online, store: { _ in throw StoreFailure() }, storeOnline: { _ in })
    }
    #expect(throws: StoreFailure.self) {
      try published.publish([kept: .complete], .online, store: { _ in }, storeOnline: { _ in throw StoreFailure() })
    }
    let stored = publish([kept: .complete], to: &published)
    #expect(stored.agreements.isEmpty && stored.online == .online)
  }

  @Test("an open view does not take back what the former holder has published, until the backend says something")
  func inherited() {
    var published = PublishedStates(agreements: [kept: .complete, other: .complete], inherited: [kept, other])
    published.snapshotStored(
      RemoteEvent(snapshotVersion: .none, targetChanges: [other: TargetChange(isCurrent: true)]))
    #expect(publish([kept: .open, other: .open], to: &published).agreements == [other: .open])
    #expect(publish([kept: .open, other: .open], .offline, to: &published).agreements == [kept: .open])
  }

  @Test("a target that a snapshot leaves open is published again")
  func reopened() {
    var published = PublishedStates(agreements: [kept: .complete], inherited: [])
    published.snapshotStored(
      RemoteEvent(snapshotVersion: .none, targetChanges: [kept: TargetChange(isCurrent: false)]))
    #expect(publish([kept: .complete], to: &published).agreements == [kept: .complete])
    published.forget(kept)
    #expect(publish([kept: .complete], to: &published).agreements == [kept: .complete])
  }
}
