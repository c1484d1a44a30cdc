internal import HearthSync
internal import Logging
internal import Synchronization

/// What the library says to people: one logger, whose level `Firestore.enableLogging(_:)` sets.
enum HearthLog {
  private static let level = Mutex(Logger.Level.notice)

  static var logger: Logger {
    var logger = Logger(label: "hearth")
    logger.logLevel = level.withLock { $0 }
    return logger
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
