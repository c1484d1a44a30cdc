internal import HearthRPC
package import Logging
internal import Synchronization

/// Files with secrets that a server reads at its start alone. It logs that one was changed, so that nobody waits for the new secret to count.
package final class FilesReadOnce: Sendable {
  private let files: [BoundedFile]
  private let stamps: Mutex<[BoundedFile.Stamp]>
  private let logger: Logger

  /// Notes the files as they are now, before the server reads them.
  package init(paths: [String], logger: Logger) {
    files = paths.map { BoundedFile(path: $0) }
    self.logger = logger
    stamps = Mutex(files.map(\.stamp))
  }

  /// Looks at the files until the task is cancelled.
  package func watch(every interval: Duration) async {
    guard !files.isEmpty else { return }
    while (try? await Task.sleep(for: interval)) != nil { look() }
  }

  /// Logs each file that was changed, replaced or removed since the last look.
  func look() {
    let present = files.map(\.stamp)
    let former = stamps.withLock { stamps in
      defer { stamps = present }
      return stamps
    }
    for (file, (before, now)) in zip(files, zip(former, present)) where before != now {
      logger.warning(
        "a file with secrets has changed; the server keeps those that it has read at its start, until it is restarted",
        metadata: ["file": .escaped(file.path)])
    }
  }
}
