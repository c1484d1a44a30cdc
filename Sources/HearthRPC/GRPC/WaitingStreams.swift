internal import NIOCore

/// The streams of a connection that wait for its window or its socket, in the order in which they get it. Each is in the list once.
///
/// Ended streams leave entries without a stream. These are removed when they are the majority, so the list has at most twice as many
/// entries as there are open streams.
struct WaitingStreams {
  private var order = CircularBuffer<OpenStream>()
  private var removedCount = 0

  /// The number of streams that wait.
  var count: Int { order.count - removedCount }

  /// Adds a stream behind the others, unless it waits already.
  mutating func append(_ stream: OpenStream) {
    guard !stream.isListed else { return }
    stream.isListed = true
    order.append(stream)
  }

  /// Takes out the stream that has waited longest.
  mutating func popFirst() -> OpenStream? {
    while let stream = order.popFirst() {
      guard stream.isListed else {
        removedCount -= 1
        continue
      }
      stream.isListed = false
      return stream
    }
    return nil
  }

  /// Removes a stream that is over, and is never added again. In constant time on average.
  mutating func remove(_ stream: OpenStream) {
    guard stream.isListed else { return }
    stream.isListed = false
    removedCount += 1
    guard removedCount > order.count / 2 else { return }
    order.removeAll { !$0.isListed }
    removedCount = 0
  }
}
