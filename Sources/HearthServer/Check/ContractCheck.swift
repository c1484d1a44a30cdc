#if PostgreSQL
  internal import HearthModel
  internal import HearthPlan
  internal import HearthRPC

  /// Carries out random requests at the nodes of a storage, each at one of them, and at a reference, and compares what both answer: the core of
  /// the contract of ``ServerStorage``.
  struct ContractCheck<Random: RandomNumberGenerator & Sendable>: Sendable {
    enum Area: String, CaseIterable, Sendable {
      case commits, documents, queries, past, sums, collections, changes
    }

    /// The answers of an area.
    struct Found: Sendable, Equatable {
      var compared = 0
      var different = 0
      var firstDifference: String?
    }

    private(set) var found = Dictionary(uniqueKeysWithValues: Area.allCases.map { ($0, Found()) })
    private let reference: HostedDatabase
    /// All with the same database.
    private let nodes: [HostedDatabase]
    private var requests: ContractRequests<Random>
    /// The versions of the commits at both.
    private var versions: [(reference: SnapshotVersion, checked: SnapshotVersion)] = []
    private var places: (reference: [SnapshotVersion: Int], checked: [SnapshotVersion: Int]) = ([:], [:])

    /// - Parameters:
    ///   - reference: An empty database.
    ///   - nodes: Nodes with the same empty database.
    init(reference: HostedDatabase, nodes: [HostedDatabase], random: Random) {
      (self.reference, self.nodes) = (reference, nodes)
      requests = ContractRequests(random)
    }

    /// - Throws: A failure that both had to have, or none: the requests are all valid.
    mutating func step() async throws {
      try await commit()
      guard !versions.isEmpty else { return }
      switch requests.below(4) {
      case 0: await compareDocuments()
      case 1: await compareQueries()
      case 2: await compareSumsAndCollections()
      default: await compareChanges()
      }
      if requests.below(20) == 0 { await declareIndexes() }
    }

    private mutating func node() -> HostedDatabase { nodes[requests.below(nodes.count)] }

    // MARK: - Requests

    private mutating func commit() async throws {
      let label = requests.below(5) == 0 ? requests.label() : nil
      let mutations = try requests.mutations()
      let places = self.places
      // A request with a label is repeated at another node, as by a client that has lost the answer.
      for _ in 0..<(label == nil ? 1 : 2) {
        func request(_ database: HostedDatabase) -> CommitRequest {
          CommitRequest(
            mutations: mutations,
            label: label.map { RequestLabel($0, mutations: mutations, database: database.id) })
        }
        let node = node()
        let expected = await outcome { () throws(StatusError) in try await reference.storage.commit(request(reference))
        }
        let answer = await outcome { () throws(StatusError) in try await node.storage.commit(request(node)) }
        if case .success(let one) = expected, case .success(let other) = answer {
          note(one.version, other.version)
          let transformed = one.results.map(\.transformResults) == other.results.map(\.transformResults)
          compare(.commits, "commit of \(mutations)", transformed, true)
          compare(
            .commits, "version of a commit", places.reference[one.version], places.checked[other.version])
        } else {
          compare(.commits, "commit of \(mutations)", status(expected), status(answer))
        }
      }
    }

    private mutating func note(_ one: SnapshotVersion, _ other: SnapshotVersion) {
      guard places.reference[one] == nil, places.checked[other] == nil else { return }
      places.reference[one] = versions.count
      places.checked[other] = versions.count
      versions.append((one, other))
    }

    private mutating func compareDocuments() async {
      let keys = requests.keys
      let node = node()
      await compare(.documents, "documents") { storage, _ throws(StatusError) in
        try await storage.documents(for: keys, at: nil).documents
      } at: {
        (nil, node)
      }
      let moment = versions[requests.below(versions.count)]
      await compare(.past, "documents in the past") { storage, version throws(StatusError) in
        try await storage.documents(for: keys, at: version).documents
      } at: {
        (moment, node)
      }
    }

    private mutating func compareQueries() async {
      for _ in 0..<3 {
        let (query, node) = (requests.query(), node())
        await compare(.queries, "\(query)") { storage, version throws(StatusError) in
          try await storage.all(of: query, at: version)
        } at: {
          (nil, node)
        }
        let moment = versions[requests.below(versions.count)]
        await compare(.past, "\(query) in the past") { storage, version throws(StatusError) in
          try await storage.all(of: query, at: version)
        } at: {
          (moment, node)
        }
      }
    }

    private mutating func compareSumsAndCollections() async {
      let (query, node) = (requests.query(), node())
      let sums = [
        Aggregation(alias: "n", operation: .count(upTo: nil)),
        Aggregation(alias: "s", operation: .sum(requests.fields[0])),
      ]
      func values(_ storage: any ServerStorage) async throws(StatusError) -> [String] {
        let values = try await storage.aggregate(sums, over: query, skipping: 0, at: nil).totals.values
        return values.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
      }
      func collections(_ storage: any ServerStorage) async throws(StatusError) -> [String] {
        try await storage.collectionIDs(under: ResourcePath(), after: nil, limit: 100, at: nil)
      }
      compare(
        .sums, "sums over \(query)",
        text(await outcome { () throws(StatusError) in try await values(reference.storage) }),
        text(await outcome { () throws(StatusError) in try await values(node.storage) }))
      compare(
        .collections, "collections",
        text(await outcome { () throws(StatusError) in try await collections(reference.storage) }),
        text(await outcome { () throws(StatusError) in try await collections(node.storage) }))
    }

    /// Compares the differences that listeners get which resume.
    private mutating func compareChanges() async {
      let (source, node) = (WatchSource.query(requests.query(isLimited: false)), node())
      let (start, end) = (versions[requests.below(versions.count)], versions[versions.count - 1])
      func changes(
        _ storage: any ServerStorage, _ start: SnapshotVersion, _ end: SnapshotVersion
      ) async throws(StatusError) -> [DifferencePiece.Change]? {
        try await storage.catchUpFeed(seen: nil)
        var changes: [DifferencePiece.Change] = []
        var cursor: DifferenceCursor?
        repeat {
          guard
            let piece = try await storage.difference(of: source, after: start, through: end, from: cursor, edges: nil)
          else { return nil }
          changes += piece.changes
          cursor = piece.next
        } while cursor != nil
        return changes
      }
      let places = self.places
      func text(_ changes: [DifferencePiece.Change]?, _ places: [SnapshotVersion: Int]) -> String {
        changes.map { $0.map { "\($0.isIn) \(Self.text($0.document, places))" }.joined(separator: ", ") } ?? "none"
      }
      let expected = await outcome { () throws(StatusError) in
        text(try await changes(reference.storage, start.reference, end.reference), places.reference)
      }
      let answer = await outcome { () throws(StatusError) in
        text(try await changes(node.storage, start.checked, end.checked), places.checked)
      }
      compare(.changes, "changes of \(source)", self.text(expected), self.text(answer))
    }

    /// Queries have the same results whatever indexes there are.
    private mutating func declareIndexes() async {
      let definitions = requests.indexes()
      await node().storage.declare(definitions)
    }

    // MARK: - Comparing

    private mutating func compare(
      _ area: Area, _ what: String,
      _ read: (any ServerStorage, SnapshotVersion?) async throws(StatusError) -> [Document],
      at place: () -> (moment: (reference: SnapshotVersion, checked: SnapshotVersion)?, node: HostedDatabase)
    ) async {
      let (moment, node) = place()
      let expected = await outcome { () throws(StatusError) in try await read(reference.storage, moment?.reference) }
      let answer = await outcome { () throws(StatusError) in try await read(node.storage, moment?.checked) }
      let places = self.places
      compare(
        area, what, text(expected.map { $0.map { Self.text($0, places.reference) } }),
        text(answer.map { $0.map { Self.text($0, places.checked) } }))
    }

    private mutating func compare<Answer: Equatable>(
      _ area: Area, _ what: String, _ expected: Answer, _ answer: Answer
    ) {
      found[area]?.compared += 1
      guard expected != answer else { return }
      found[area]?.different += 1
      if found[area]?.firstDifference == nil {
        found[area]?.firstDifference = "\(what): \(answer), and not \(expected)"
      }
    }

    /// A document, whose times are the places of the commits.
    private static func text(_ document: Document, _ places: [SnapshotVersion: Int]) -> String {
      guard document.isFound else { return "\(document.key) is missing" }
      let times = [document.createTime, document.version].map { places[$0].map(String.init) ?? "unknown" }
      let fields = (try? document.fields.decoded()).map { "\($0)" } ?? "unreadable"
      return "\(document.key) of \(times[0]) to \(times[1]): \(fields)"
    }

    private func outcome<Answer>(
      _ body: () async throws(StatusError) -> Answer
    ) async -> Result<Answer, StatusError> {
      do throws(StatusError) { return .success(try await body()) } catch { return .failure(error) }
    }

    private func text<Answer>(_ result: Result<Answer, StatusError>) -> String {
      switch result {
      case .success(let answer): "\(answer)"
      case .failure(let error): "\(error.code)"
      }
    }

    private func status(_ result: Result<CommitOutcome, StatusError>) -> String {
      switch result {
      case .success: "OK"
      case .failure(let error): "\(error.code)"
      }
    }
  }
#endif
