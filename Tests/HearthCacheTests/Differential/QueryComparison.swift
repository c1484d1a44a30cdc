import HearthModel
import HearthPlan
import TestSupport

@testable import HearthCache
@testable import HearthStore

/// A cache's history and a query that is then asked.
struct QueryCase: Sendable {
  var backing: Backing
  var steps: [CacheStep]
  var query: Query
  var isThorough = true

  /// The first way of answering that gives something else than the model; nil if all agree.
  func difference() -> String? {
    do {
      let player = try CachePlayer(backing)
      defer { player.cache.close() }
      for step in steps { try player.play(step) }
      var ways = Ways()
      return try QueryComparison(player).difference(query, isThorough: isThorough, &ways)
    } catch {
      return "error: \(error)"
    }
  }

  var simpler: [QueryCase] {
    let steps = Simpler.parts(of: steps) + Simpler.elements(of: steps) { $0.simpler }
    let withFewerSteps = steps.map { QueryCase(backing: backing, steps: $0, query: query, isThorough: isThorough) }
    let withSimplerQuery = Simpler.queries(of: query).map { simpler in
      // A query with a listener stays the one that is asked.
      let steps = self.steps.map { step in
        if case .listen(query) = step { CacheStep.listen(simpler) } else { step }
      }
      return QueryCase(backing: backing, steps: steps, query: simpler, isThorough: isThorough)
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

/// Counts of the ways in which queries were answered.
struct Ways: Sendable {
  var pairs = 0
  /// Pairs in which the query finds something.
  var found = 0
  var counts: [String: Int] = [:]

  mutating func note(_ execution: QueryExecution) {
    if execution.reason?.hasPrefix("its indexes lead to a large part") ?? false { note("indexes given up") }
    switch execution.plan {
    case .document: note("document")
    case .keys: note("keys")
    case .scan: note("scan")
    case .previousResult: note("previous result")
    case .index:
      note("index")
      if execution.accesses.count > 1 { note("several accesses") }
      for case .index(let definition, let bounds, let isOrdered) in execution.accesses {
        if isOrdered { note("ordered index") }
        if definition.scope == .collectionGroup { note("index of a group") }
        if definition.containsField != nil { note("array membership") }
        if definition.fields.count > 1, bounds.count > 1 { note("composite index") }
        if bounds.contains(where: { bound in
          ["start at ", "start after ", "end at ", "end before "].contains { bound.hasPrefix($0) }
        }) {
          note("cursor in an index")
        }
      }
    }
  }

  mutating func note(_ way: String) { counts[way, default: 0] += 1 }

  static func + (a: Ways, b: Ways) -> Ways {
    Ways(
      pairs: a.pairs + b.pairs, found: a.found + b.found, counts: a.counts.merging(b.counts, uniquingKeysWith: +))
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

  /// - Parameter isThorough: also the ways that differ from others only in who does the work.
  func difference(_ query: Query, isThorough: Bool, _ ways: inout Ways) throws -> String? {
    let expected = NaiveQuery(query).answer(documents)
    ways.pairs += 1
    if !expected.isEmpty { ways.found += 1 }
    let store = player.cache.store

    // The store's own choice: an index where there is one, the previous result, or a scan.
    let result = try store.run(query, usePreviousResults: true)
    ways.note(result.execution)
    if let difference = difference("\(result.execution.plan)", result.documents, expected) { return difference }

    if query.documentKey == nil, !query.path.isEmpty || query.collectionGroup != nil, result.execution.plan != .scan {
      let scanned = try store.executor().runScan(query)
      if let difference = difference("scan", scanned.0.documents, expected) { return difference }
    }
    if let targetID = player.targets[query.target] {
      let confirmed = player.naive.targetKeys[targetID] ?? []
      if result.confirmedKeys != confirmed {
        return "confirmed keys: \(texts(result.confirmedKeys)), not \(texts(confirmed))"
      }
      if let difference = try previousResult(query, confirmed, expected, &ways) { return difference }
    }
    return isThorough ? try shared(query, expected, &ways) : nil
  }

  private func previousResult(
    _ query: Query, _ confirmed: Set<DocumentKey>, _ expected: [DocumentKey], _ ways: inout Ways
  ) throws -> String? {
    let store = player.cache.store
    guard let data = try store.targetData(for: query.target) else { return "the target has gone" }
    let previous = PreviousResult(keys: confirmed, limboFreeVersion: data.lastLimboFreeSnapshotVersion)
    if query.documentKey == nil, let answer = try store.executor().runPreviousResult(query, previous) {
      ways.note("previous result, forced")
      if let difference = difference("previous result", answer.0.documents, expected) { return difference }
    }
    return difference("reading once", try store.read(query).documents, expected)
  }

  /// Scans that are cut into parts, and what runs in the background on connections of its own.
  private func shared(_ query: Query, _ expected: [DocumentKey], _ ways: inout Ways) throws -> String? {
    guard query.documentKey == nil else { return nil }
    let store = player.cache.store
    let executor = try store.executor()
    let parts = try store.tables.documents.parts(of: CollectionScope(of: query), count: 3)
      .map { try executor.scan(query, part: $0) }
    ways.note("parts")
    if let difference = try difference("scan in parts", QueryExecutor.merge(parts, of: query).documents, expected) {
      return difference
    }
    let limits = BackgroundQueryLimits(documentsOnLoop: 0, partsPerScan: 3)
    guard
      let backgroundQuery = try store.queries.makeBackgroundQuery(
        query, wantsConfirmedKeys: true, limits: limits, connections: 4)
    else {
      return nil
    }
    ways.note("in the background")
    let answer = try backgroundQuery.run { count, body in for index in 0..<count { body(index) } }
    return difference("in the background", answer.documents, expected)
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
  /// The executor for queries of the current user.
  func executor() throws -> QueryExecutor {
    let overlays = UserOverlays(table: tables.overlays, user: try transactions.user.row())
    return QueryExecutor(documents: tables.documents, localMutations: overlays)
  }
}
