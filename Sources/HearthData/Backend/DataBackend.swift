package import HearthModel
internal import HearthTransport
package import Logging
internal import Synchronization

/// One database of one backend, and what all of `hearth data` asks of it.
package final class DataBackend: Sendable {
  package let databaseID: DatabaseID
  /// The address for messages.
  package let place: String
  /// True for Cloud Firestore itself.
  package let isGoogle: Bool
  let transport: FirestoreTransport
  /// True if calls have a token that identifies their caller.
  private let hasCaller: Bool
  private let pause: Duration
  /// Called once with the reason why calls are repeated.
  private let onRetry: @Sendable (String) -> Void
  private let hasToldOfRetry = Atomic(false)

  /// - Parameters:
  ///   - choice: The backend. It is connected to with the first call.
  ///   - pause: The pause before the first retry; each further one is twice as long.
  ///   - onRetry: Called when calls are repeated because the backend says that it has no room, which may take a minute. It is called once.
  package init(
    _ choice: ConnectionChoice, logger: Logger, pause: Duration = .milliseconds(250),
    onRetry: @escaping @Sendable (String) -> Void = { _ in }
  ) throws(DataError) {
    var configuration = TransportConfiguration(
      host: choice.host, port: choice.port, usesTLS: choice.usesTLS, databaseID: choice.databaseID,
      credentials: choice.credentials, logger: logger)
    configuration.callTimeout = .seconds(120)
    configuration.trustedCertificateFiles = choice.trustedCertificateFiles
    configuration.clientCertificate = choice.clientCertificate
    databaseID = choice.databaseID
    place = choice.place
    isGoogle = choice.host.hasSuffix(".googleapis.com")
    hasCaller = choice.hasCaller
    self.pause = pause
    self.onRetry = onRetry
    do {
      transport = try FirestoreTransport(configuration)
    } catch {
      throw DataError("\(error)")
    }
  }

  package func shutdown() async {
    await transport.shutdown()
  }

  /// The failure of a call in words.
  func failure(_ error: StatusError, doing what: String) -> DataError {
    DataError(error, doing: what, at: place, hasCaller: hasCaller)
  }

  // MARK: - Retries

  private static let attempts = 9

  /// Runs a call, and repeats it after failures that pass: nine attempts in about a minute.
  ///
  /// - Parameter isFirstContact: True to report at once that no backend is there, which at the start is a wrong address.
  /// - Throws: A ``DataError``, or `CancellationError` when the task is cancelled.
  func retrying<Answer>(
    _ what: String, isFirstContact: Bool = false, _ body: () async throws(StatusError) -> Answer
  ) async throws -> Answer {
    var pause = pause
    for attempt in 1... {
      try Task.checkCancellation()
      do {
        return try await body()
      } catch {
        try Task.checkCancellation()
        guard attempt < Self.attempts, error.isPassing, !(isFirstContact && error.code == .unavailable) else {
          throw failure(error, doing: what)
        }
        tellOfRetry(error, what)
      }
      try await Task.sleep(for: pause)
      pause = min(pause * 2, .seconds(16))
    }
    throw CancellationError()
  }

  private func tellOfRetry(_ error: StatusError, _ what: String) {
    guard error.code == .resourceExhausted, !hasToldOfRetry.exchange(true, ordering: .relaxed) else { return }
    onRetry("\(what): \(error.message) It is tried again, for about a minute.")
  }
}

extension StatusError {
  /// True for failures after which the same call may succeed.
  var isPassing: Bool {
    switch code {
    case .unavailable, .deadlineExceeded, .resourceExhausted, .aborted, .internal, .unknown: true
    default: false
    }
  }
}
