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

    /// - Parameter stored: Reads a document as it is before the group.
    /// - Throws: As ``RequestEvaluation/evaluate(stored:)``.
    mutating func apply(
      _ request: CommitRequest, stored: (DocumentKey) throws -> Document
    ) throws -> CommitOutcome {
      guard !request.mutations.isEmpty else { return CommitOutcome(version: latest, results: []) }
      let (version, before, latest) = (try next ?? self.latest.next(), net, self.latest)
      let evaluation = try RequestEvaluation(
        request, in: databaseID, at: version, maximumRewrittenBytes: maximumRewrittenBytes, metrics: metrics
      ).evaluate { key in
        let document = try before[key]?.after ?? stored(key)
        return document.isFound ? document : .missing(key, version: latest)
      }
      let transitions = evaluation.transitions
      for transition in transitions { add(transition) }
      commits.append(CommittedChange(version: version, transitions: transitions))
      self.latest = version
      next = nil
      var outcome = CommitOutcome(version: version, results: evaluation.results)
      if request.returnsDocument { outcome.document = evaluation.lastDocument }
      return outcome
    }

    private mutating func add(_ transition: DocumentTransition) {
      storedBytes += transition.after.fields.bytes.count
      net[transition.key, default: transition].after = transition.after
    }
  }
#endif
