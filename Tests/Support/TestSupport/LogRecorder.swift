package import Logging
import Synchronization

/// Keeps what is logged, as `level message key=value …`.
package final class LogRecorder: Sendable {
  private let storage = Mutex<[String]>([])

  package init() {}

  package var lines: [String] { storage.withLock { $0 } }

  package var logger: Logger {
    var logger = Logger(label: "test") { _ in Handler(recorder: self) }
    logger.logLevel = .trace
    return logger
  }

  private struct Handler: LogHandler {
    let recorder: LogRecorder
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.MetadataValue? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let values = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
      recorder.storage.withLock { $0.append("\(event.level) \(event.message) \(values.joined(separator: " "))") }
    }
  }
}
