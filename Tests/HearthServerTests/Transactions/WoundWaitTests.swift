import HearthModel
import TestSupport
import Testing

@testable import HearthServer

@Suite("Wound-wait")
struct WoundWaitTests {
  private static let old: WoundWait.ID = [1]
  private static let young: WoundWait.ID = [2]
  private static let large = Query(path: path("c")).with(filter: .field(field("n"), .greaterThan, 5.value))

  /// Numbers of a document before and after a change, and whether it concerns the query for large ones.
  private static let matches: [(Int?, Int?, Bool)] = [
    (1, 2, false), (1, 6, true), (6, 1, true), (6, 7, true), (nil, 7, true), (7, nil, true), (nil, 1, false),
  ]

  /// A transaction of age 10 and one of age 20, which have read something.
  private static func rule(
    keys: [DocumentKey] = [], _ query: HearthModel.Query? = nil, isOldExpired: Bool = false
  ) -> WoundWait {
    var rule = WoundWait()
    for (id, time, isExpired) in [(old, Int64(10), isOldExpired), (young, 20, false)] {
      rule.add(id, Seniority(time: time, number: 0), isExpired: isExpired)
      for key in keys { rule.add(key, readBy: id) }
      if let query { rule.add(query, readBy: id) }
    }
    return rule
  }

  /// A change of a document's number; nil is a missing document.
  private static func change(_ path: String, from old: Int?, to new: Int?) -> DocumentTransition {
    func document(_ number: Int?) -> Document {
      let version = SnapshotVersion(microseconds: 1)
      guard let number else { return .missing(key(path), version: version) }
      return .found(key(path), version: version, fields: EncodedFields(["n": number.value]))
    }
    return DocumentTransition(before: document(old), after: document(new))
  }

  private func decision(_ rule: WoundWait, at time: Int64, by own: WoundWait.ID? = nil) -> WoundWait.Decision {
    rule.decision(on: [Self.change("c/a", from: 1, to: 2)], by: own, Seniority(time: time, number: 1))
  }

  @Test("a commit waits for older readers of its documents, and ends younger ones when no older one is left")
  func ages() {
    var rule = Self.rule(keys: [key("c/a")])
    #expect(decision(rule, at: 5) == .proceed(.init(wounded: [Self.old, Self.young])))
    #expect(decision(rule, at: 15) == .wait(for: [Self.old]))
    #expect(decision(rule, at: 25) == .wait(for: [Self.old, Self.young]))
    rule.end(Self.old)
    #expect(decision(rule, at: 15) == .proceed(.init(wounded: [Self.young])))
    rule.end(Self.young)
    #expect(decision(rule, at: 15) == .proceed(.init()))
    #expect(rule.isEmpty)
  }

  @Test("of the same time, the number decides")
  func sameTime() {
    var rule = WoundWait()
    rule.add(Self.old, Seniority(time: 10, number: 1), isExpired: false)
    rule.add(key("c/a"), readBy: Self.old)
    let change = [Self.change("c/a", from: 1, to: 2)]
    #expect(rule.decision(on: change, by: nil, Seniority(time: 10, number: 2)) == .wait(for: [Self.old]))
    #expect(
      rule.decision(on: change, by: nil, Seniority(time: 10, number: 0)) == .proceed(.init(wounded: [Self.old])))
  }

  @Test("a transaction is not in the way of its own commit")
  func own() {
    let rule = Self.rule(keys: [key("c/a")])
    #expect(decision(rule, at: 10, by: Self.old) == .proceed(.init(wounded: [Self.young])))
    #expect(decision(rule, at: 20, by: Self.young) == .wait(for: [Self.old]))
  }

  @Test("one that has expired is ended, but not as long as the commit waits for others")
  func expired() {
    let rule = Self.rule(keys: [key("c/a")], isOldExpired: true)
    #expect(decision(rule, at: 15) == .proceed(.init(wounded: [Self.young], expired: [Self.old])))
    #expect(decision(rule, at: 25) == .wait(for: [Self.young]))
  }

  @Test(
    "a query is in the way of changes of documents that match it before or after, and of no others",
    arguments: matches)
  func queries(before: Int?, after: Int?, isConcerned: Bool) {
    let rule = Self.rule(Self.large)
    let decision = rule.decision(
      on: [Self.change("c/x", from: before, to: after)], by: nil, Seniority(time: 15, number: 0))
    #expect(decision == (isConcerned ? .wait(for: [Self.old]) : .proceed(.init())))
    let elsewhere = rule.decision(
      on: [Self.change("d/x", from: before, to: after)], by: nil, Seniority(time: 15, number: 0))
    #expect(elsewhere == .proceed(.init()))
  }

  @Test("queries of a collection group and of all collections count for every document below")
  func groups() {
    let change = [Self.change("x/y/c/a", from: 1, to: 2)]
    for (query, isConcerned) in [
      (Query(path: ResourcePath(), collectionGroup: "c"), true), (Query(path: path("x/y/c")), true),
      (Query(path: ResourcePath(), collectionGroup: ""), true), (Query(path: path("c")), false),
      (Query(path: ResourcePath(), collectionGroup: "x"), false),
    ] {
      let decision = Self.rule(query).decision(on: change, by: nil, Seniority(time: 15, number: 0))
      #expect(decision == (isConcerned ? .wait(for: [Self.old]) : .proceed(.init())), "\(query)")
    }
  }

  @Test("random transactions all get through, in an order that explains all their reads, and nobody waits in a cycle")
  func simulations() {
    var (wounds, waits) = (0, 0)
    for seed in SeededGenerator.seeds(4_000) {
      var simulation = WoundWaitSimulation(seed: seed)
      simulation.run()
      #expect(simulation.failures.isEmpty, "seed \(seed): \(simulation.failures)")
      #expect(simulation.commits == simulation.actorCount * WoundWaitSimulation.commitsPerActor, "seed \(seed)")
      wounds += simulation.wounds
      waits += simulation.waits
    }
    #expect(wounds > 0 && waits > 0)
  }

  @Test("the simulation finds mistakes", arguments: WoundWaitSimulation.Mistake.allCases)
  func mistakes(_ mistake: WoundWaitSimulation.Mistake) {
    let isFound = SeededGenerator.seeds(200).contains { seed in
      var simulation = WoundWaitSimulation(seed: seed, mistake: mistake)
      simulation.run()
      return !simulation.failures.isEmpty
    }
    #expect(isFound)
  }
}
