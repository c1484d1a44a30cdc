import Foundation
import TestSupport

/// The plan for one transaction of a client, in the form in which a process gets it as a line of JSON.
///
/// Lists are documents of the collection `lists`, with the numbers, the lists' epoch and their group. Each epoch has its own, so that they
/// stay short, and are created in the run.
struct ListPlan: Codable, Sendable {
  struct Append: Codable, Sendable {
    var list: String
    /// The group of the list.
    var group: Int
    var number: Int
    /// By `arrayUnion`, without a read.
    var isBlind: Bool
  }

  var epoch: Int
  /// Documents to read.
  var reads: [String] = []
  /// The group whose lists a query reads.
  var group: Int?
  var appends: [Append] = []

  var isReadOnly: Bool { appends.isEmpty }
  /// A commit without a transaction.
  var isBlind: Bool { reads.isEmpty && group == nil && appends.allSatisfy(\.isBlind) }

  static let listsPerEpoch = 12
  static let groups = 4

  static func list(_ number: Int, epoch: Int) -> String { "e\(epoch)-\(number)" }

  static func lists(ofGroup group: Int, epoch: Int) -> [String] {
    (0..<listsPerEpoch).filter { $0 % groups == group }.map { list($0, epoch: epoch) }
  }

  static func group(of list: String) -> Int {
    (list.split(separator: "-").last.flatMap { Int($0) } ?? 0) % groups
  }
}

/// The answer of a client.
struct ListAnswer: Codable, Sendable {
  var outcome: String
  var reads: [String: [Int]] = [:]

  static let failed = ListAnswer(outcome: "failed")
  static let unknown = ListAnswer(outcome: "unknown")
}

/// Makes the plans of all clients.
actor ListPlanner {
  private static let plansPerEpoch = 600

  private var generator: SeededGenerator
  private(set) var planCount = 0
  private var lastNumber = 0

  init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

  /// The number of epochs that have begun.
  var epochs: Int { planCount / Self.plansPerEpoch + 1 }

  func chance(_ percent: Int) -> Bool { generator.chance(percent) }

  /// - Parameter queries: False for clients whose transactions cannot query.
  func next(queries: Bool) -> ListPlan {
    planCount += 1
    var plan = ListPlan(epoch: planCount / Self.plansPerEpoch)
    let lists = (0..<ListPlan.listsPerEpoch).map { ListPlan.list($0, epoch: plan.epoch) }.shuffled(using: &generator)
    let kind = generator.below(10)
    switch kind {
    case 0..<4:
      plan.reads = Array(lists.prefix(1 + generator.below(2)))
      append(to: plan.reads.randomElement(using: &generator), in: &plan)
      if generator.chance(30) { append(to: lists.last, isBlind: true, in: &plan) }
    case 4..<6 where queries:
      plan.group = generator.below(ListPlan.groups)
      let isOwn = generator.chance(50)
      append(
        to: lists.first { (ListPlan.group(of: $0) == plan.group) == isOwn }, isBlind: generator.chance(50) || !isOwn,
        in: &plan)
    case 4..<7:
      plan.reads = Array(lists.prefix(2))
      append(to: lists[2], isBlind: true, in: &plan)
    case 7:
      for list in lists.prefix(1 + generator.below(3)) { append(to: list, isBlind: true, in: &plan) }
    case 8 where queries: plan.group = generator.below(ListPlan.groups)
    default: plan.reads = Array(lists.prefix(2 + generator.below(3)))
    }
    return plan
  }

  /// A commit without a transaction that writes each list of an epoch.
  func writingAll(of epoch: Int) -> ListPlan {
    var plan = ListPlan(epoch: epoch)
    for list in 0..<ListPlan.listsPerEpoch { append(to: ListPlan.list(list, epoch: epoch), isBlind: true, in: &plan) }
    return plan
  }

  private func append(to list: String?, isBlind: Bool = false, in plan: inout ListPlan) {
    guard let list else { return }
    lastNumber += 1
    plan.appends.append(
      ListPlan.Append(list: list, group: ListPlan.group(of: list), number: lastNumber, isBlind: isBlind))
  }
}
