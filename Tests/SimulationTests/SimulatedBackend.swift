import HearthModel

/// A backend that keeps every version of every document and answers requests at once.
struct SimulatedBackend {
  private(set) var now: Int64 = 1000
  private var history: [DocumentKey: [Document]] = [:]
  private var answers: [String: [(contents: [Mutation], answer: Result<Commit, StatusError>)]] = [:]
  /// Documents whose contents no client understands.
  var poisoned: Set<DocumentKey> = []

  struct Commit: Equatable {
    var version: SnapshotVersion
    var results: [MutationResult]
  }

  // MARK: - Documents

  func document(_ key: DocumentKey, at version: Int64 = .max) -> Document {
    history[key]?.last { $0.version.microseconds <= version } ?? .missing(key, version: .none)
  }

  /// The result of a query, in its order.
  func run(_ query: Query, at version: Int64 = .max) -> [Document] {
    let matching = history.keys.map { document($0, at: version) }.filter { $0.isFound && query.matches($0) }
      .sorted { query.compare($0, $1) == .ascending }
    guard let limit = query.limit else { return matching }
    return query.isLimitToLast ? Array(matching.suffix(limit)) : Array(matching.prefix(limit))
  }

  // MARK: - Writes

  /// True if a batch that was refused is refused again, whatever has changed since. So what a stopped client has sent and comes late does
  /// not undo a refusal that another client has heard. `hearth serve` looks at such a batch again.
  var remembersRefusals = true

  /// Commits a batch, once: a batch that was answered before gets the answer of that time, whatever its preconditions are now. A known
  /// label with other contents is a batch of its own.
  ///
  /// - Returns: True if the batch was new, and the answer.
  mutating func commit(_ mutations: [Mutation], label: String?) -> (isNew: Bool, Result<Commit, StatusError>) {
    let contents = mutations.map { mutation in
      var content = mutation
      content.precondition = .none
      return content
    }
    if let label, let known = answers[label]?.first(where: { $0.contents == contents }) {
      return (false, known.answer)
    }
    let answer = commitNew(mutations)
    if let label, remembersRefusals || (try? answer.get()) != nil {
      answers[label, default: []].append((contents, answer))
    }
    return (true, answer)
  }

  private mutating func commitNew(_ mutations: [Mutation]) -> Result<Commit, StatusError> {
    let version = SnapshotVersion(microseconds: now + 1)
    var changed: [DocumentKey: Document] = [:]
    var results: [MutationResult] = []
    for mutation in mutations {
      guard !mutation.setsPendingTimestamp else {
        return .failure(StatusError(code: .invalidArgument, message: "\(mutation) has a reserved field"))
      }
      guard !mutation.isForbidden else {
        return .failure(StatusError(code: .permissionDenied, message: "the rules forbid it"))
      }
      do {
        let outcome = try mutation.applied(
          to: changed[mutation.key] ?? document(mutation.key), commitTime: version, requestTime: version.timestamp)
        changed[mutation.key] = outcome.document
        results.append(MutationResult(version: version, transformResults: outcome.transformResults))
      } catch let error as StatusError {
        return .failure(error)
      } catch {
        return .failure(StatusError(code: .internal, message: "\(error)"))
      }
    }
    now += 1
    for (key, document) in changed { history[key, default: []].append(document) }
    return .success(Commit(version: version, results: results))
  }
}

extension Mutation {
  /// True if it sets what only a local view may show.
  var setsPendingTimestamp: Bool {
    switch operation {
    case .set(let fields), .patch(let fields, _): (try? fields.decoded())?.hasPendingTimestamp ?? false
    case .delete, .verify: false
    }
  }

  /// The backend's rules allow no field of this name.
  static let forbiddenField = "forbidden"

  var isForbidden: Bool {
    switch operation {
    case .set(let fields), .patch(let fields, _):
      ((try? fields.decoded()) ?? [:])[Self.forbiddenField] != nil
    case .delete, .verify: false
    }
  }
}

extension MapValue {
  fileprivate var hasPendingTimestamp: Bool {
    entries.contains {
      switch $0.value {
      case .pendingServerTimestamp: true
      case .map(let map): map.hasPendingTimestamp
      default: false
      }
    }
  }
}
