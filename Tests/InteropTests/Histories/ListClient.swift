import HearthHistory
import TestSupport

/// A client that carries out plans.
protocol ListClient: Actor {
  nonisolated var name: String { get }
  nonisolated var queries: Bool { get }
  /// - Parameter isKilled: True to end the client at a moment of chance, as a crash would, and to start again.
  func perform(_ plan: ListPlan, isKilled: Bool) async throws -> ListAnswer
  func end() async throws
}

extension ListHistory {
  /// Lets a client carry out plans until a time.
  ///
  /// - Parameter killPercent: The percentage of its plans that end with a kill of the client.
  func record(
    _ client: any ListClient, plans: ListPlanner, killPercent: Int, until end: ContinuousClock.Instant
  ) async throws {
    while ContinuousClock.now < end {
      let plan = await plans.next(queries: client.queries)
      let isKilled = await plans.chance(killPercent)
      try await record(plan, by: client, isKilled: isKilled)
    }
    try await client.end()
  }

  @discardableResult
  func record(
    _ plan: ListPlan, by client: any ListClient, isKilled: Bool
  ) async throws -> ListTransaction.Outcome {
    let began = event()
    let answer = try await client.perform(plan, isKilled: isKilled)
    var reads = answer.reads
    if let group = plan.group, answer.outcome == "committed" {
      // A list that the query has not found did not exist.
      for list in ListPlan.lists(ofGroup: group, epoch: plan.epoch) where reads[list] == nil { reads[list] = [] }
    }
    let outcome: ListTransaction.Outcome =
      switch answer.outcome {
      case "committed": .committed
      case "failed": .failed
      default: .unknown
      }
    var appends: [String: [Int]] = [:]
    for append in plan.appends { appends[append.list, default: []].append(append.number) }
    add(
      ListTransaction(
        client: client.name, began: began, ended: event(), outcome: outcome, reads: reads, appends: appends))
    return outcome
  }
}
