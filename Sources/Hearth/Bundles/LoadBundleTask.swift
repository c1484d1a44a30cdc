public import Foundation
internal import HearthModel
internal import Synchronization

/// The state of loading a bundle.
public enum LoadBundleTaskState: Int, Sendable {
  /// It has failed; nothing of the bundle is in the cache.
  case error
  /// Loading is in progress.
  case inProgress
  /// Everything is in the cache.
  case success
}

/// The progress of loading a bundle.
public final class LoadBundleTaskProgress: NSObject, Sendable {
  /// The number of documents read so far; kept after an error.
  public let documentsLoaded: Int
  /// The number of documents that the bundle's metadata states; 0 after an error in its metadata.
  public let totalDocuments: Int
  /// The bytes read so far, without the bundle's metadata; after an error, the bytes up to the last document before it.
  public let bytesLoaded: Int
  /// The bytes that the bundle's metadata states, without the metadata itself; 0 after an error in its metadata.
  public let totalBytes: Int
  /// The state of the loading: in progress, ended, or failed.
  public let state: LoadBundleTaskState

  init(_ progress: BundleProgress) {
    documentsLoaded = progress.documentsLoaded
    totalDocuments = progress.totalDocuments
    bytesLoaded = progress.bytesLoaded
    totalBytes = progress.totalBytes
    state =
      switch progress.state {
      case .inProgress: .inProgress
      case .success: .success
      case .failed: .error
      }
  }

  private var values: [Int] { [documentsLoaded, totalDocuments, bytesLoaded, totalBytes, state.rawValue] }

  /// Returns whether all values are the same.
  public override func isEqual(_ object: Any?) -> Bool { (object as? LoadBundleTaskProgress)?.values == values }

  /// A hash of the values.
  public override var hash: Int { values.hashValue }
}

/// Names an observer of a ``LoadBundleTask``; the first one of a task is 1.
public typealias LoadBundleObserverHandle = Int

/// The loading of a bundle, started by ``Firestore/loadBundle(_:completion:)-(Data,_)``.
///
/// Loading continues even if the application does not keep the object. It may be used from any thread.
public final class LoadBundleTask: NSObject, Sendable {
  private typealias Observer = (
    handle: LoadBundleObserverHandle, call: @Sendable (LoadBundleTaskProgress) -> Void
  )

  private struct State {
    var observers: [Observer] = []
    var lastHandle = 0
    var final: LoadBundleTaskProgress?
  }

  private let queue: DispatchQueue
  private let state = Mutex(State())

  init(queue: DispatchQueue) {
    self.queue = queue
  }

  /// Adds an observer, which is called on the settings' queue with each progress: once at the beginning, after each document, and with the
  /// final state. An observer that is added after the end gets the final state.
  @discardableResult
  public func addObserver(_ observer: @escaping (LoadBundleTaskProgress) -> Void) -> LoadBundleObserverHandle {
    let observer = UncheckedSendableBox(observer)
    let (handle, final) = state.withLock { state in
      state.lastHandle += 1
      if state.final == nil { state.observers.append((state.lastHandle, { observer.value($0) })) }
      return (state.lastHandle, state.final)
    }
    if let final { queue.async { observer.value(final) } }
    return handle
  }

  /// Ends the calls to one observer. An unknown handle is ignored.
  public func removeObserverWith(handle: LoadBundleObserverHandle) {
    let removed = state.withLock { state -> Observer? in
      let index = state.observers.firstIndex { $0.handle == handle }
      return index.map { state.observers.remove(at: $0) }
    }
    // Released without the lock: the deinitialiser of what it has captured may call this object.
    withExtendedLifetime(removed) {}
  }

  /// Ends the calls to all observers.
  public func removeAllObservers() {
    let removed = state.withLock { state in
      defer { state.observers = [] }
      return state.observers
    }
    withExtendedLifetime(removed) {}
  }

  /// Notifies the observers of a progress; a final one ends the calls.
  func tell(_ progress: LoadBundleTaskProgress) {
    queue.async {
      let observers = self.state.withLock { state in
        defer {
          if progress.state != .inProgress {
            state.final = progress
            state.observers = []
          }
        }
        return state.observers
      }
      for observer in observers { observer.call(progress) }
    }
  }
}
