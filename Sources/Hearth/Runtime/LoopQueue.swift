internal import Foundation
internal import Synchronization

/// The serial queue of the clients of one cache folder in this process, or of a client in memory.
///
/// A client that is started after another one was terminated takes no message before the other has closed the file. So its writes are stored behind
/// those of the other, and it is not told of the states of a client that has stopped listening.
final class LoopQueue: Sendable {
  private struct State {
    /// The clients that were stopped and still hear the answers to what they have sent. They live until then.
    var ending: [ObjectIdentifier: ClientRuntime] = [:]
    /// The starts of other clients in the meantime.
    var starts: [@Sendable () -> Void] = []
  }

  private static let folders = Mutex<[String: LoopQueue]>([:])

  let queue = DispatchQueue(label: "hearth.client")
  private let state = Mutex(State())

  static func queue(for cache: ClientConfiguration.Cache) -> LoopQueue {
    switch cache {
    case .memory: LoopQueue()
    case .file(let folder, _): queue(forFolder: folder)
    }
  }

  static func queue(forFolder folder: String) -> LoopQueue {
    folders.withLock { folders in
      if let queue = folders[folder] { return queue }
      let queue = LoopQueue()
      folders[folder] = queue
      return queue
    }
  }

  /// Runs `body` on the queue when no client is ending any more.
  func start(_ body: @escaping @Sendable () -> Void) {
    queue.async { [self] in
      let isFree = state.withLock { state in
        if !state.ending.isEmpty { state.starts.append(body) }
        return state.ending.isEmpty
      }
      if isFree { body() }
    }
  }

  /// Takes note of a client's state. Called on the queue.
  ///
  /// - Parameter isEnding: True if it was stopped and has not closed the file yet.
  func note(_ client: ClientRuntime, isEnding: Bool) {
    let starts = state.withLock { state -> [@Sendable () -> Void] in
      let id = ObjectIdentifier(client)
      if isEnding {
        state.ending[id] = client
        return []
      }
      guard state.ending.removeValue(forKey: id) != nil, state.ending.isEmpty else { return [] }
      defer { state.starts = [] }
      return state.starts
    }
    for start in starts { self.start(start) }
  }
}
