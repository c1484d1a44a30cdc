internal import Foundation
internal import HearthCache
internal import HearthModel
internal import HearthSync

/// What is known of an outbox at one moment.
struct OutboxContents: Sendable {
  var batches: [MutationBatch]
  var rejected: [RejectedBatch]
  var status: OutboxStatus
}

/// How far the batches of an outbox are on their way.
struct OutboxStatus: Sendable {
  var state: LocalStore.OutboxState
  /// The batches that this client has sent.
  var sent: Set<BatchID>
  /// True if this client is the one that sends.
  var isSender: Bool
  var obstacle: OutboxObstacle?
  /// The conflict that this client resolves.
  var conflict: OutboxConflict?

  /// True if the batch was sent and not answered. What another process has sent is known only up to a reservation.
  func isAtBackend(_ batchID: BatchID) -> Bool {
    isSender ? sent.contains(batchID) : obstacle == nil && batchID <= state.sentThrough
  }
}

/// A list of pending writes that is read in pages, between which the loop handles other messages.
struct OutboxListing {
  private let user: String?
  /// Later batches were written after the list was requested.
  private let last: BatchID
  private var batches: [MutationBatch] = []
  let completion: @Sendable (Result<OutboxContents, NSError>) -> Void

  init(
    of user: String?, in localStore: LocalStore,
    _ completion: @escaping @Sendable (Result<OutboxContents, NSError>) -> Void
  ) throws {
    self.user = user
    self.completion = completion
    last = try localStore.highestUnacknowledgedBatchID(of: .user(user)) ?? -1
  }

  /// Reads the next page.
  ///
  /// - Returns: the whole list, or nil if there is more to read.
  mutating func advance(_ localStore: LocalStore) throws -> [MutationBatch]? {
    let page = try localStore.outboxPage(after: batches.last?.batchID ?? -1, through: last, of: user)
    batches += page.batches
    return page.isLast ? batches : nil
  }
}

typealias OutboxEvent = Result<OutboxContents, NSError>

/// Those who observe the outbox, and when it is read for them.
///
/// The outbox is read as a whole, so a change does not start a reading while one runs, and the pause after a reading grows with the time
/// that it took: however long the outbox is, observing it takes a bounded part of the loop's time.
struct OutboxObservation {
  private enum Reading {
    case none
    /// A reading is due or under way; true if something has changed since it began.
    case running(isOutdated: Bool)
  }

  var listeners: [ListenerID: Listener<OutboxEvent>] = [:]
  private var reading = Reading.none
  private var pause: Duration = .zero

  /// Something may have changed.
  ///
  /// - Returns: the pause before the outbox is to be read; nil if a reading is under way already.
  mutating func changed() -> Duration? {
    switch reading {
    case .running:
      reading = .running(isOutdated: true)
      return nil
    case .none:
      reading = .running(isOutdated: false)
      return pause
    }
  }

  /// The reading begins now: changes from here on are not in it.
  mutating func begins() {
    reading = .running(isOutdated: false)
  }

  /// The reading has ended.
  ///
  /// - Returns: the pause before the next one, if one is needed.
  mutating func ended(after duration: Duration) -> Duration? {
    pause = .milliseconds(10) + duration * 4
    guard case .running(isOutdated: true) = reading else {
      reading = .none
      return nil
    }
    reading = .running(isOutdated: false)
    return pause
  }

  /// The observed client has ended.
  mutating func end(_ event: OutboxEvent?) {
    for (_, listener) in listeners {
      if let event { listener.deliver(event) }
      listener.silence()
    }
    self = OutboxObservation()
  }
}
