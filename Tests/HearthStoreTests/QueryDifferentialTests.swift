import HearthModel
import HearthStore
import Testing

/// Whichever way a query is answered, the documents and their order are the same.
@Suite("Generated queries")
struct QueryDifferentialTests {
  @Test("a scan with local mutations is what the model says", arguments: SeededGenerator.seeds(40))
  func scan(seed: UInt64) throws {
    var generator = CaseGenerator(seed: seed)
    let store = try DocumentStore(database: Database(.memory))
    var documents: [DocumentKey: Document] = [:]
    for number in 1...150 {
      let document = generator.document(generator.key(), version: Int64(number))
      documents[document.key] = document
      try store.set(document)
      if generator.chance(5) {
        documents[document.key] = nil
        try store.remove(document.key)
      }
    }
    let overlays = Overlays(
      Dictionary((0..<generator.below(15)).map { _ in generator.key() }.map { ($0, generator.mutation($0)) }) { $1 })
    let executor = QueryExecutor(documents: store, localMutations: overlays)
    var matches = 0
    for _ in 0..<60 {
      let query = generator.query()
      let expected = try naiveAnswer(query, documents, overlays)
      let answer = try executor.run(query)
      #expect(answer.documents == expected, "seed \(seed): \(query.canonicalID)")
      #expect(answer.execution.plan == .scan || answer.execution.plan == .keys)
      matches += expected.count
    }
    #expect(matches > 0, "seed \(seed) tests nothing")
  }

  @Test("a previous result gives what a scan gives", arguments: SeededGenerator.seeds(40))
  func previousResult(seed: UInt64) throws {
    var generator = CaseGenerator(seed: seed &+ 1_000_000)
    let store = try DocumentStore(database: Database(.memory))
    var documents: [DocumentKey: Document] = [:]
    func change(_ document: Document) throws {
      documents[document.key] = document
      try store.set(document)
    }
    // The state at the last snapshot without limbo: everything was read from the backend by then.
    for number in 1...150 {
      var document = generator.document(generator.key(), version: Int64(number))
      document.mutationState = .synced
      try change(document)
    }
    let limboFree = version(200)
    let queries = (0..<60).map { _ in generator.query() }
    let previous = try queries.map { query in
      let confirmed = try naiveAnswer(query, documents, Overlays()).map(\.key)
      return PreviousResult(keys: Set(confirmed), limboFreeVersion: limboFree)
    }
    // What happened later.
    for number in 0..<generator.below(25) {
      try change(generator.document(generator.key(), version: Int64(201 + number)))
    }
    let overlays = Overlays(
      Dictionary((0..<generator.below(10)).map { _ in generator.key() }.map { ($0, generator.mutation($0)) }) { $1 })

    let executor = QueryExecutor(documents: store, localMutations: overlays)
    var uses = 0
    for (query, previous) in zip(queries, previous) {
      let answer = try executor.run(query, previous: previous)
      #expect(
        try answer.documents == naiveAnswer(query, documents, overlays), "seed \(seed): \(query.canonicalID)")
      if answer.execution.plan == .previousResult { uses += 1 }
    }
    #expect(uses > 10, "seed \(seed): the previous result was used \(uses) times")
  }
}
