internal import HearthModel
internal import Synchronization

/// The unsent changes of one step of a listen stream that come from memory.
///
/// Streams share the documents with the feed as long as the feed keeps them. A stream whose client does not read would keep them longer. So
/// it gives them up after a time, even while it waits for the client, and takes the remaining changes from the change log.
final class HeldChanges: Sendable {
  struct Limits: Sendable {
    /// Fewer bytes are held as long as it takes: a client may have as many waiting for it anyway.
    var bytes = 256 << 10
    /// A client that reads has taken all that the feed can keep by then.
    var time = Duration.seconds(10)
  }

  let isEmpty: Bool
  /// Nil when they were given up.
  private let changes: Mutex<WatchDelta?>
  /// Nil if they are held as long as it takes.
  private let deadline: ContinuousClock.Instant?

  init(_ delta: WatchDelta, limits: Limits) {
    isEmpty = delta.isEmpty
    deadline = delta.bytes > limits.bytes ? ContinuousClock.now + limits.time : nil
    changes = Mutex(delta)
  }

  /// Sends the changes piece by piece.
  ///
  /// - Returns: False if some were given up.
  func send(to output: ListenOutput, in database: DatabaseID) async throws -> Bool {
    let timer = deadline.map { deadline in
      Task { [weak self] in
        try await ContinuousClock().sleep(until: deadline)
        self?.changes.withLock { $0 = nil }
      }
    }
    defer { timer?.cancel() }
    while let messages = takeMessages(in: database) {
      if messages.isEmpty { return true }
      try await output.send(messages)
    }
    return false
  }

  private func takeMessages(in database: DatabaseID) -> [ListenMessage]? {
    changes.withLock { changes in
      if let deadline, deadline <= ContinuousClock.now, changes?.isEmpty == false { changes = nil }
      return changes?.takeMessages(atLeast: ListenMessage.bytesPerPiece, in: database)
    }
  }
}
