internal import Foundation
internal import HearthCache
internal import HearthModel

/// A list of pending writes that is read in pages, between which the loop handles other messages.
struct OutboxListing {
  private let user: String?
  /// Later batches were written after the list was requested.
  private let last: BatchID
  private var batches: [MutationBatch] = []
  let completion: @Sendable (Result<[MutationBatch], NSError>) -> Void

  init(
    of user: String?, in localStore: LocalStore,
    _ completion: @escaping @Sendable (Result<[MutationBatch], NSError>) -> Void
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
