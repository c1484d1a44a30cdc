internal import HearthSync
internal import Logging
internal import Synchronization

/// The library's log: one logger, whose level `Firestore.enableLogging(_:)` sets.
enum HearthLog {
  fileprivate static let level = Mutex(Logger.Level.notice)

  /// Follows later changes of the level, so that it may be stored.
  static var logger: Logger {
    Logger(label: "hearth") { _ in SwitchedLogHandler(Logger(label: "hearth").handler) }
  }

  static func setVerbose(_ isVerbose: Bool) {
    level.withLock { $0 = isVerbose ? .debug : .notice }
  }

  static func debug(_ message: @autoclosure () -> String) { logger.debug("\(message())") }
  static func warning(_ message: @autoclosure () -> String) { logger.warning("\(message())") }
  static func error(_ message: @autoclosure () -> String) { logger.error("\(message())") }

  /// A line of the sync engine.
  static func log(_ level: LogLevel, _ message: String) {
    switch level {
    case .debug: logger.debug("\(message)")
    case .notice: logger.notice("\(message)")
    case .warning: logger.warning("\(message)")
    case .error: logger.error("\(message)")
    }
  }
}

/// Passes messages to the application's log handler if the present level allows them.
private struct SwitchedLogHandler: LogHandler {
  private var handler: any LogHandler
  /// The level of this copy of the logger, if it was set.
  private var ownLevel: Logger.Level?

  init(_ handler: any LogHandler) {
    self.handler = handler
    self.handler.logLevel = .trace
  }

  var logLevel: Logger.Level {
    get { ownLevel ?? HearthLog.level.withLock { $0 } }
    set { ownLevel = newValue }
  }

  var metadata: Logger.Metadata {
    get { handler.metadata }
    set { handler.metadata = newValue }
  }

  var metadataProvider: Logger.MetadataProvider? {
    get { handler.metadataProvider }
    set { handler.metadataProvider = newValue }
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { handler[metadataKey: key] }
    set { handler[metadataKey: key] = newValue }
  }

  func log(event: LogEvent) { handler.log(event: event) }
}
