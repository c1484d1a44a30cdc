internal import Foundation
internal import HearthModel
internal import HearthSync

/// Reads a bundle from a stream, which may block, and passes it to the client piece by piece: the next piece is read when the client has
/// handled the last one, and only if the loading has not ended with it. A stream may be endless.
///
/// Nothing is read before the client's earlier bundles have ended (see ``BundleTurns``).
final class BundleSource: Sendable {
  static let pieceSize = 1 << 16

  private let stream: UncheckedSendableBox<InputStream>
  private let runtime: ClientRuntime
  private static let threads = WaitingThreads(name: "hearth.bundles")

  init(_ stream: InputStream, _ runtime: ClientRuntime) {
    self.stream = UncheckedSendableBox(stream)
    self.runtime = runtime
  }

  func start(
    progress: @escaping @Sendable (BundleProgress) -> Void, completion: @escaping @Sendable (NSError?) -> Void
  ) {
    let id = runtime.beginBundle(BundleObserver(progress: progress, completion: completion))
    runtime.bundleTurns.wait { [self] in
      Self.threads.run { [self] in
        stream.value.open()
        readPiece(id)
      }
    }
  }

  /// No thread is held while the client has the piece.
  private func readPiece(_ id: RequestID) {
    var buffer = [UInt8](repeating: 0, count: Self.pieceSize)
    let count = stream.value.read(&buffer, maxLength: buffer.count)
    guard count > 0 else { return end(id, count < 0 ? readError : nil) }
    runtime.addToBundle(id, Array(buffer.prefix(count))) { wantsMore in
      Self.threads.run { [self] in
        if wantsMore { readPiece(id) } else { end(id, nil) }
      }
    }
  }

  private func end(_ id: RequestID, _ error: StatusError?) {
    stream.value.close()
    runtime.endBundle(id, error)
    // The next bundle's first piece comes after this one's end.
    runtime.bundleTurns.end()
  }

  private var readError: StatusError {
    let reason = stream.value.streamError?.localizedDescription ?? "no reason is given"
    return StatusError(code: .unknown, message: "The bundle's stream cannot be read: \(reason)")
  }
}

/// The callbacks that report the loading of a bundle.
struct BundleObserver: Sendable {
  let progress: @Sendable (BundleProgress) -> Void
  /// Called once, after the last progress.
  let completion: @Sendable (NSError?) -> Void
}
