internal import Foundation
internal import HearthModel
internal import HearthSync

/// Reads a bundle from a stream on a queue of its own, and gives the client one piece after the other: the next one is read when
/// the client has taken the last.
final class BundleSource: Sendable {
  static let pieceSize = 1 << 16

  private let stream: UncheckedSendableBox<InputStream>
  private let runtime: ClientRuntime
  private static let queue = DispatchQueue(label: "hearth.bundles", attributes: .concurrent)

  init(_ stream: InputStream, _ runtime: ClientRuntime) {
    self.stream = UncheckedSendableBox(stream)
    self.runtime = runtime
  }

  func start(
    progress: @escaping @Sendable (BundleProgress) -> Void, completion: @escaping @Sendable (NSError?) -> Void
  ) {
    let id = runtime.beginBundle(BundleObserver(progress: progress, completion: completion))
    Self.queue.async { self.read(id) }
  }

  private func read(_ id: RequestID) {
    let stream = stream.value
    stream.open()
    defer { stream.close() }
    var buffer = [UInt8](repeating: 0, count: Self.pieceSize)
    while true {
      let count = stream.read(&buffer, maxLength: buffer.count)
      if count < 0 {
        let reason = stream.streamError?.localizedDescription ?? "no reason is given"
        return runtime.endBundle(
          id, StatusError(code: .unknown, message: "The bundle's stream cannot be read: \(reason)"))
      }
      guard count > 0 else { return runtime.endBundle(id, nil) }
      let taken = DispatchSemaphore(value: 0)
      runtime.addToBundle(id, Array(buffer.prefix(count))) { taken.signal() }
      taken.wait()
    }
  }
}

/// Whom to tell of a bundle's loading.
struct BundleObserver: Sendable {
  let progress: @Sendable (BundleProgress) -> Void
  /// Called once, after the last progress.
  let completion: @Sendable (NSError?) -> Void
}
