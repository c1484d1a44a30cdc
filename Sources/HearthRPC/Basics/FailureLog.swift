package import Logging
internal import Synchronization

/// Logs failures that many calls may meet, such as those of a full disk: of lines with the same text and the same metadata, one in ten seconds.
package final class FailureLog: Sendable {
  /// For all other lines.
  package let logger: Logger
  private let now: @Sendable () -> ContinuousClock.Instant
  /// By text and metadata.
  private let paces = Mutex<[String: LogPace]>([:])

  /// More different lines begin anew, so that their number is bounded.
  private static let maximumTexts = 256

  package init(_ logger: Logger, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
    self.logger = logger
    self.now = now
  }

  /// Logs a line unless an equal one was logged within ten seconds. The next one that is logged tells the number of those that were not.
  package func log(level: Logger.Level = .error, _ text: String, _ metadata: Logger.Metadata) {
    guard level >= logger.logLevel else { return }
    let key = text + metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
    let pace = paces.withLock { paces in
      if let known = paces[key] { return known }
      if paces.count >= Self.maximumTexts { paces = [:] }
      let pace = LogPace(now: now)
      paces[key] = pace
      return pace
    }
    guard let untold = pace.next() else { return }
    var metadata = metadata
    metadata.note(untold: untold)
    logger.log(level: level, "\(text)", metadata: metadata)
  }
}
