import HearthCache
import HearthModel
import HearthSync

/// The operations of users on their outboxes: cancel writes, resubmit refused ones, look up an outcome.
extension SharedClient {
  /// Takes back one of the batches that wait, or one that never did.
  func withdrawSomething() {
    let pending = world.outbox(of: engine.signedInUser).map(\.batchID)
    let batchID = pending.randomElement(using: &world.generator) ?? 1_000_000
    let evenIfSent = world.generator.chance(30)
    withdrawals[batchID] = evenIfSent
    world.note("\(name) takes back batch \(batchID)\(evenIfSent ? ", even if it was sent" : "")")
    request(.withdraw(batchID, evenIfSent: evenIfSent))
  }

  /// Writes again what was refused, or what is not in the list of that.
  func resubmitSomething() {
    guard let rejected = world.rejected(of: user).randomElement(using: &world.generator) else {
      return request(.discardRejected(nil))
    }
    if world.generator.chance(20) { return request(.discardRejected([rejected.batch.batchID])) }
    let number = world.nextNumber()
    let identity = BatchIdentity(high: 1, low: UInt64(number))
    world.ledger.wrote(number, rejected.batch.mutations, identity, by: user)
    world.ledger.hasReceipt(number)
    world.note("\(name) hands batch \(rejected.batch.batchID) in again as write \(number)")
    post(
      .writes([
        LocalWrite(
          id: WriteID(rawValue: number), mutations: [],
          localWriteTime: Timestamp(seconds: SimulatedDevice.seconds(of: user), nanoseconds: Int32(number)),
          identity: identity, keepsOutcome: true, resubmits: rejected.batch.batchID)
      ]))
  }
}

extension SyncAction {
  /// A transaction that was to hand in or to discard what is not in the list was rolled back, with what it had read of other clients.
  var saysThatNothingWasFound: Bool {
    switch self {
    case .completeWrite(_, let error?), .writeNotSaved(_, let error), .requestFailed(_, let error):
      error.code == .notFound
    default: false
    }
  }
}

extension SharedSimulation {
  /// The refused batches of a user in the file.
  func rejected(of user: String?) -> [RejectedBatch] {
    (try? readerStore.outbox.rejectedBatches(of: user)) ?? []
  }

  /// The batches that have left the outboxes because a user did not want them any more.
  func noteWithdrawals(
    from before: [String?: [MutationBatch]], to now: [String?: [MutationBatch]], by client: SharedClient?
  ) {
    for (user, batches) in before {
      let remaining = Set((now[user] ?? []).map(\.batchID))
      for batch in batches where !remaining.contains(batch.batchID) {
        let mayBeSent = client?.withdrawals[batch.batchID] ?? false
        ledger.withdrawn(batch.number, mayBeSent: mayBeSent)
        if mayBeSent { givenUp[user, default: []].append(batch) }
      }
    }
  }

  /// Checks that the outcomes in the file are the true ones, for writes with a receipt.
  func checkOutcomes() throws {
    for (identity, number) in ledger.identities {
      let fate = try readerStore.outbox.fate(of: identity)
      switch (ledger.fate(of: number), fate) {
      case (.committed, .ended(.committed(let version, let results, _))):
        let isTrue = ledger.commits(of: number).contains {
          $0.version == version && ($0.results == results || (erasesResults && results.isEmpty))
        }
        if !isTrue {
          throw Failure(description: "write \(number) has the outcome \(fate), and was not committed so")
        }
      case (.refused, .ended(.failed)), (.refused, .unknown), (.open, _): break
      default: throw Failure(description: "write \(number) has the outcome \(fate)")
      }
    }
  }
}
