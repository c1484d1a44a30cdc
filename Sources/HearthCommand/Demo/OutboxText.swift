import Hearth
import HearthCache

/// The size of an outbox in the words of `hearth cache`, such as "75 writes in 25 batches". A `PendingWrite` is a batch.
struct OutboxText: Equatable, CustomStringConvertible {
  private let count: WriteCount

  init(batches: Int, writes: Int) {
    count = WriteCount(batches: batches, writes: writes)
  }

  init(_ pending: [PendingWrite]) {
    self.init(batches: pending.count, writes: pending.reduce(0) { $0 + $1.operations.count })
  }

  var description: String { count.description }
}
