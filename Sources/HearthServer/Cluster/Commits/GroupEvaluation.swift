#if PostgreSQL
  internal import HearthModel

  /// Evaluates the requests of a group one after the other, each on the documents that those before it leave. Nothing is stored: a request that
  /// is refused leaves no trace, and the others go on.
  struct GroupEvaluation {
    private let databaseID: DatabaseID
    private let maximumRewrittenBytes: Int
    private let metrics: ServerMetrics?
    /// The version of the first commit; nil behind it.
    private var next: SnapshotVersion?
    /// The newest version: that of the latest commit of the group, or the one before the group.
    private(set) var latest: SnapshotVersion
    /// The commits of the group, with and without changes.
    private(set) var commits: [CommittedChange] = []
    /// The documents that the group has written, as they were before it and as it leaves them.
    private(set) var net: [DocumentKey: DocumentTransition] = [:]
    /// The bytes of documents that the group stores.
    private(set) var storedBytes = 0

    /// - Parameters:
    ///   - latest: The newest version before the group.
    ///   - first: The version of the group's first commit.
    init(
      databaseID: DatabaseID, latest: SnapshotVersion, first: SnapshotVersion, maximumRewrittenBytes: Int,
      metrics: ServerMetrics?
    ) {
      assert(first > latest, "the first version \(first) of a group is not above \(latest)")
      self.databaseID = databaseID
      self.latest = latest
      self.next = first
      self.maximumRewrittenBytes = maximumRewrittenBytes
      self.metrics = metrics
    }

    /// The version of the first commit of a group.
    ///
    /// - Parameters:
    ///   - latest: The newest version before the group.
    ///   - seen: The latest version that this node has seen. After a failover that has lost commits, it may be above `latest`.
    /// - Throws: DATA_LOSS if there is none.
    static func firstVersion(
      after latest: SnapshotVersion, seen: SnapshotVersion, time: Timestamp
    ) throws(StatusError) -> SnapshotVersion {
      max(try max(latest, seen).next(), SnapshotVersion(microseconds: time.microseconds))
    }

    /// The effect of a request on the documents, as the group has left them so far.
    struct Step {
      /// Nil for a request without writes, which makes no commit.
      var change: CommittedChange?
      var outcome: CommitOutcome
    }

    /// Evaluates a request. It has no effect before ``apply(_:)``.
    ///
    /// - Parameter reads: Read documents as they are before the group.
    /// - Throws: As ``RequestEvaluation/evaluate(_:)``.
    func evaluate(_ request: CommitRequest, _ reads: DocumentReads) throws -> Step {
      guard !request.mutations.isEmpty else {
        return Step(change: nil, outcome: CommitOutcome(version: latest, results: []))
      }
      let version = try next ?? self.latest.next()
      let evaluation = try RequestEvaluation(
        request, in: databaseID, at: version, maximumRewrittenBytes: maximumRewrittenBytes, metrics: metrics
      ).evaluate(readsInGroup(reads))
      var outcome = CommitOutcome(version: version, results: evaluation.results)
      if request.returnsDocument { outcome.document = evaluation.lastDocument }
      return Step(change: CommittedChange(version: version, transitions: evaluation.transitions), outcome: outcome)
    }

    /// Reads documents as the group has left them so far.
    private func readsInGroup(_ reads: DocumentReads) -> DocumentReads {
      let (net, latest) = (net, latest)
      func present(_ document: Document) -> Document {
        document.isFound ? document : .missing(document.key, version: latest)
      }
      return DocumentReads(
        head: { key in
          if let document = net[key]?.after { return DocumentReads.Head(document: present(document), isComplete: true) }
          let head = try reads.head(key)
          return DocumentReads.Head(document: present(head.document), isComplete: head.isComplete)
        },
        document: { key in present(try net[key]?.after ?? reads.document(key)) })
    }

    /// Makes a request one of the commits of the group.
    ///
    /// - Parameter step: Evaluated after the latest step that was applied.
    mutating func apply(_ step: Step) {
      guard let change = step.change else { return }
      assert(change.version > latest, "a commit with version \(change.version) is applied after \(latest)")
      for transition in change.transitions { add(transition) }
      commits.append(change)
      latest = change.version
      next = nil
    }

    private mutating func add(_ transition: DocumentTransition) {
      storedBytes += transition.after.fields.bytes.count
      net[transition.key, default: transition].after = transition.after
    }
  }
#endif
