internal import Synchronization

/// Bounds the messages of a stream that were delivered but not handled by their owner. Beyond the bound the stream is not read until the
/// owner has caught up, and HTTP/2's flow control makes the backend wait.
///
/// Reading stops when the limit is reached and continues at half of it, so that the backend does not wait for each message. A single
/// message may exceed the remaining credit. The messages of a stream must be handled in the order of their delivery.
package final class DeliveryCredit: Sendable {
  /// Counted for each message in addition to its bytes, for the memory that even the smallest one takes once it is decoded.
  private static let bytesPerMessage = 1024

  private struct State {
    /// The sizes of the messages that are not handled, oldest first, from `first` on.
    var sizes: [Int] = []
    var first = 0
    var unhandledBytes = 0
    var waiter: CheckedContinuation<Void, Never>?
    var isOver = false
  }

  private let limitBytes: Int
  private let state = Mutex(State())

  package init(limitBytes: Int) {
    self.limitBytes = limitBytes
  }

  /// The size of the messages that are delivered and not handled, counted like the limit.
  package var unhandledBytes: Int { state.withLock { $0.unhandledBytes } }

  /// The owner has handled the oldest message.
  package func messageHandled() {
    let waiter: CheckedContinuation<Void, Never>? = state.withLock { state in
      guard state.first < state.sizes.count else { return nil }
      state.unhandledBytes -= state.sizes[state.first]
      state.first += 1
      if state.first == state.sizes.count || state.first >= 1024 {
        state.sizes.removeFirst(state.first)
        state.first = 0
      }
      return state.unhandledBytes <= limitBytes / 2 ? state.waiter.take() : nil
    }
    waiter?.resume()
  }

  /// Counts a message; called before it is delivered.
  func take(_ messageBytes: Int) {
    let size = messageBytes + Self.bytesPerMessage
    state.withLock { state in
      state.sizes.append(size)
      state.unhandledBytes += size
    }
  }

  /// Returns when there is room for another message, or when the task is cancelled. Only the stream's reader waits.
  func waitForRoom() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let mustWait = state.withLock { state in
          guard state.unhandledBytes >= limitBytes, !state.isOver else { return false }
          state.waiter = continuation
          return true
        }
        if !mustWait { continuation.resume() }
      }
    } onCancel: {
      let waiter = state.withLock { state in
        state.isOver = true
        return state.waiter.take()
      }
      waiter?.resume()
    }
  }
}
