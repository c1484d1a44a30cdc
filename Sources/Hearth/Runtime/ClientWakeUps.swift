internal import Dispatch
internal import HearthCache
internal import HearthStore

/// Listens for other processes that share the cache: they write into this client's pipe when there is news, and the pipe of the lease
/// reaches its end when the client that has the streams ends.
///
/// Confined to the client's queue; its callbacks come on a queue of their own.
final class ClientWakeUps {
  private static let queue = DispatchQueue(label: "hearth.wake-ups")

  private let client: ClientFiles
  private let post: @Sendable (RunningClient.Message) -> Void
  private var news: PipeSource?
  private var lease: PipeSource?

  init(_ client: ClientFiles, post: @escaping @Sendable (RunningClient.Message) -> Void) {
    self.client = client
    self.post = post
    if let pipe = client.wakePipe {
      news = PipeSource(pipe, on: Self.queue) { [post] _ in post(.othersChanged) }
    }
  }

  /// Watches the lease while another client holds it.
  func watchLease(_ isWatched: Bool) {
    guard isWatched else {
      lease = nil
      return
    }
    guard lease == nil, let pipe = client.watchLease() else { return }
    lease = PipeSource(pipe, on: Self.queue) { [post] hasWriter in
      if !hasWriter { post(.leaseEnded) }
    }
  }

  /// The end of the lease was told; the next watch begins anew.
  func leaseEnded() {
    lease = nil
  }
}

/// Reads a pipe as long as it lives.
private final class PipeSource {
  private let source: any DispatchSourceRead

  /// - Parameter heard: Called for bytes, and with false when no writer is left, which ends the source.
  init(_ pipe: NamedPipe, on queue: DispatchQueue, _ heard: @escaping @Sendable (_ hasWriter: Bool) -> Void) {
    let descriptor = pipe.descriptor
    let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    self.source = source
    // A source may be cancelled from any thread, and cancelling it lets go of the handler that holds it.
    let ended = UncheckedSendableBox(source)
    source.setEventHandler {
      let hasWriter = NamedPipe.drain(descriptor)
      if !hasWriter { ended.value.cancel() }
      heard(hasWriter)
    }
    // The pipe is closed only when the source does not look at it any more.
    let owner = PipeOwner(pipe)
    source.setCancelHandler { owner.release() }
    source.resume()
  }

  deinit { source.cancel() }
}

/// Keeps a pipe open until its source is cancelled.
///
/// `@unchecked Sendable`: the pipe is written in `init`, before the source is resumed, and in `release`, which the source calls once, as
/// its last act.
private final class PipeOwner: @unchecked Sendable {
  private var pipe: NamedPipe?

  init(_ pipe: NamedPipe) {
    self.pipe = pipe
  }

  func release() { pipe = nil }
}
