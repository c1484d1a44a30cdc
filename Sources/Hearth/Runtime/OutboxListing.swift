internal import Foundation
internal import HearthCache
internal import HearthModel
internal import HearthSync

/// The contents of an outbox at one moment.
struct OutboxContents: Sendable {
  var owner: OutboxOwner
  var batches: [MutationBatch]
  var rejected: [RejectedBatch]
  var resolved: [KeptConflict]
  var status: OutboxStatus
}

/// The progress of an outbox's batches on their way to the backend.
struct OutboxStatus: Sendable {
  var state: LocalStore.OutboxState
  /// The batches that this client has sent.
  var sent: Set<BatchID>
  /// True if this client is the one that sends.
  var isSender: Bool
  var obstacle: OutboxObstacle?
  /// The conflict that this client resolves.
  var conflict: OutboxConflict?
  /// The writes that are only in memory, because another process holds the file.
  var unsavedCount: Int

  /// True if the batch was sent and not answered. It is known only up to a reservation which writes another process has sent.
  func isAtBackend(_ batchID: BatchID) -> Bool {
    isSender ? sent.contains(batchID) : obstacle == nil && batchID <= state.sentThrough
  }
}

/// A list of pending writes that is read in pages, between which the loop handles other messages.
struct OutboxListing {
  /// The owner of the outbox; another user may have signed in since.
  let user: String?
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
    last = try localStore.outbox.highestBatchID(of: .user(user)) ?? -1
  }

  /// Reads the next page.
  ///
  /// - Returns: the whole list, or nil if there is more to read.
  mutating func advance(_ localStore: LocalStore) throws -> [MutationBatch]? {
    let page = try localStore.outbox.page(after: batches.last?.batchID ?? -1, through: last, of: user)
    batches += page.batches
    return page.isLast ? batches : nil
  }
}

typealias OutboxObservation = PacedObservation<OutboxContents>
typealias OutboxEvent = OutboxObservation.Event
