internal import Foundation
internal import HearthModel
internal import HearthSync

/// The rules of a program for conflicts, as the client takes them.
struct ConflictSettings: Sendable {
  typealias Question = @Sendable (DocumentConflict) async throws -> ConflictAnswer

  var rules = ConflictRules()
  /// The program's resolvers, by the numbers in the rules.
  var questions: [Question] = []

  init() {}

  /// - Parameter firestore: Held weakly: it holds the client that holds this.
  init(_ rules: [ConflictRule], firestore: Firestore) {
    for rule in rules {
      switch rule.resolver.kind {
      case .policy(let policy):
        self.rules.rules.append(HearthModel.ConflictRule(rule.scope, policy))
      case .custom(let resolver):
        self.rules.rules.append(HearthModel.ConflictRule(rule.scope, .ask(resolver: questions.count)))
        questions.append { [weak firestore] conflict in
          guard let firestore else { throw CancellationError() }
          let conflict = Conflict(conflict, firestore: firestore)
          let resolution = try await Self.answer(within: resolver.limit) { try await resolver.resolve(conflict) }
          return try resolution.answer(for: conflict.document)
        }
      }
    }
  }

  private static func answer(
    within limit: Duration?, _ resolve: @escaping @Sendable () async throws -> ConflictResolution
  ) async throws -> ConflictResolution {
    guard let limit else { return try await resolve() }
    // Not a task group: that would wait for a resolver that ignores its cancellation.
    let outcome = Outcome<ConflictResolution>()
    let resolving = Task {
      do {
        outcome.resolve(.success(try await resolve()))
      } catch {
        outcome.resolve(.failure(error))
      }
    }
    let waiting = Task {
      try await Task.sleep(for: limit)
      outcome.resolve(
        .failure(NSError.firestore(.deadlineExceeded, "The resolver has not answered within \(limit).")))
    }
    defer {
      resolving.cancel()
      waiting.cancel()
    }
    return try await outcome.value()
  }
}

/// The questions to the program that have no answer yet. Confined to the loop, except the questions themselves.
struct ConflictQuestions {
  private let questions: [ConflictSettings.Question]
  private let post: @Sendable (RunningClient.Message) -> Void
  private var running: [ConflictID: Task<Void, Never>] = [:]

  init(_ settings: ConflictSettings, post: @escaping @Sendable (RunningClient.Message) -> Void) {
    questions = settings.questions
    self.post = post
  }

  mutating func ask(_ id: ConflictID, _ conflict: DocumentConflict) {
    guard questions.indices.contains(conflict.resolver) else { return }
    let question = questions[conflict.resolver]
    running[id] = Task { [post] in
      let result: Result<ConflictAnswer, StatusError>
      do {
        result = .success(try await question(conflict))
      } catch {
        result = .failure(Self.status(of: error))
      }
      post(.stream(.conflictAnswered(id, result)))
    }
  }

  /// Forgets a question that was answered.
  mutating func answered(_ id: ConflictID) {
    running[id] = nil
  }

  /// Lets the program know that an answer is not needed any more.
  mutating func cancel(_ id: ConflictID) {
    running.removeValue(forKey: id)?.cancel()
  }

  /// Lets the program know that its answers are not needed any more.
  mutating func cancelAll() {
    for task in running.values { task.cancel() }
    running = [:]
  }

  private static func status(of error: any Error) -> StatusError {
    let error = NSError.firestore(error)
    let code = StatusCode(rawValue: error.code) ?? .unknown
    return StatusError(
      code: error.domain == FirestoreErrorDomain ? code : .unknown, message: error.localizedDescription)
  }
}
