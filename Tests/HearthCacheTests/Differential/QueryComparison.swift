import HearthModel
import HearthStore
import TestSupport

@testable import HearthCache

/// A cache's history and a query that is then asked.
struct QueryCase: Sendable {
  var backing: Backing
  var steps: [CacheStep]
  var query: Query

  /// The first way of answering that gives something else than the model; nil if all agree.
  func difference() -> String? {
    do {
      let player = try CachePlayer(backing)
      defer { player.cache.close() }
      for step in steps { try player.play(step) }
      var ways = Ways()
      return try QueryComparison(player).difference(query, &ways)
    } catch {
      return "error: \(error)"
    }
  }

  var simpler: [QueryCase] {
    let steps = Simpler.parts(of: steps) + Simpler.elements(of: steps) { $0.simpler }
    let withFewerSteps = steps.map { QueryCase(backing: backing, steps: $0, query: query) }
    let withSimplerQuery = Simpler.queries(of: query).map { simpler in
      // A query that somebody listens to stays the one that is asked.
      let steps = self.steps.map { step in
        if case .listen(query) = step { CacheStep.listen(simpler) } else { step }
      }
      return QueryCase(backing: backing, steps: steps, query: simpler)
    }
    return withFewerSteps.prefix(64) + withSimplerQuery + withFewerSteps.dropFirst(64)
  }

  /// The smallest case found that still fails, to be read and typed in again.
  func minimalText() -> String {
    let minimal = minimized(self, simpler: \.simpler) { $0.difference() != nil }
    let steps = minimal.steps.map { "  \($0)" }.joined(separator: "\n")
    return """
      \(minimal.difference() ?? "passes when it is played alone")
      cache in \(minimal.backing)
      \(steps)
      query \(CaseText.text(minimal.query))
      """
  }
}

/// How often each way of answering was taken.
struct Ways: Sendable {
  var pairs = 0
  /// Pairs in which the query finds something.
  var found = 0
  var plans: [String: Int] = [:]

  mutating func note(_ plan: QueryPlan) {
    let name =
      switch plan {
      case .document: "document"
      case .keys: "keys"
      case .index: "index"
      case .previousResult: "previous result"
      case .scan: "scan"
      }
    plans[name, default: 0] += 1
  }

  static func + (a: Ways, b: Ways) -> Ways {
    Ways(
      pairs: a.pairs + b.pairs, found: a.found + b.found,
      plans: a.plans.merging(b.plans, uniquingKeysWith: +))
  }
}

/// Compares all ways in which a cache can answer with the plain evaluation, in one state.
struct QueryComparison {
  private let player: CachePlayer
  private let view: DocumentMap
  /// The view with decoded fields, in the order of keys.
  let documents: [NaiveDocument]

  init(_ player: CachePlayer) throws {
    self.player = player
    view = try player.view()
    documents = try view.values.sorted { $0.key < $1.key }.map {
      NaiveDocument(key: $0.key, fields: try $0.fields.decoded())
    }
  }

  func difference(_ query: Query, _ ways: inout Ways) throws -> String? {
    let expected = NaiveQuery(query).answer(documents)
    ways.pairs += 1
    if !expected.isEmpty { ways.found += 1 }
    let store = player.cache.store
    func compare(_ way: String, _ answer: [Document]) -> String? { difference(way, answer, expected) }

    let scanned = try store.execute(query, previous: nil)
    ways.note(scanned.execution.plan)
    if let difference = compare("scan", scanned.documents) { return difference }

    let result = try store.run(query, usePreviousResults: true)
    if let difference = compare("listening", result.documents) { return difference }
    if let targetID = player.targets[query.target] {
      let confirmed = player.naive.targetKeys[targetID] ?? []
      if result.remoteKeys != confirmed {
        return "confirmed keys: \(texts(result.remoteKeys)), not \(texts(confirmed))"
      }
      guard let data = try store.targetData(for: query.target) else { return "the target has gone" }
      let previous = PreviousResult(keys: confirmed, limboFreeVersion: data.lastLimboFreeSnapshotVersion)
      let answer = try store.execute(query, previous: previous)
      ways.note(answer.execution.plan)
      if let difference = compare("previous result", answer.documents) { return difference }
      if let difference = compare("reading once", try store.read(query).documents) { return difference }
    }
    return nil
  }

  private func difference(_ way: String, _ answer: [Document], _ expected: [DocumentKey]) -> String? {
    guard answer.map(\.key) == expected else {
      return "\(way): \(texts(answer.map(\.key))), not \(texts(expected))"
    }
    for document in answer where document != view[document.key] {
      return "\(way): \(CaseText.text(document.key)) is \(CaseText.text(document.fields)) \(document.mutationState)"
    }
    return nil
  }

  private func texts(_ keys: some Collection<DocumentKey>) -> String {
    "[" + keys.map { CaseText.text($0) }.joined(separator: ", ") + "]"
  }
}

extension LocalStore {
  /// Answers a query as the store does, and says how.
  fileprivate func execute(
    _ query: Query, previous: PreviousResult?
  ) throws -> (documents: [Document], execution: QueryExecution) {
    let overlays = UserOverlays(table: overlays, user: try userRow())
    return try QueryExecutor(documents: documents, localMutations: overlays).run(query, previous: previous)
  }
}
