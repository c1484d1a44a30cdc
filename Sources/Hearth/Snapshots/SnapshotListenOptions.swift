public import Foundation
internal import HearthSync

/// The source of a listener's data.
public enum ListenSource: UInt, Sendable {
  /// From the cache first and from the backend as soon as it answers.
  case `default`
  /// From the cache only, with local writes and with documents that other listeners receive; the backend is never asked.
  case cache
}

/// The source of a one-time read's data.
public enum FirestoreSource: UInt, Sendable {
  /// From the backend; from the cache when the backend cannot be reached.
  case `default`
  /// From the backend only, even while a listener to the same query is open; an error if the backend cannot be reached.
  case server
  /// From the cache only.
  case cache
}

/// The value that a server timestamp has before the backend has set it.
public enum ServerTimestampBehavior: Int, Sendable {
  /// `NSNull`.
  case none
  /// The device's time at the write.
  case estimate
  /// The value that the field had before, or `NSNull` if it had none.
  case previous
}

/// The options of a snapshot listener. Each `with…` method returns changed options and leaves the receiver as it is.
public final class SnapshotListenOptions: NSObject, Sendable {
  /// The source of the listener's data. Default: ``ListenSource/default``.
  public let source: ListenSource
  /// True if the listener is also called when only metadata changed. Default: false.
  public let includeMetadataChanges: Bool

  /// All defaults.
  public override init() {
    source = .default
    includeMetadataChanges = false
  }

  private init(source: ListenSource, includeMetadataChanges: Bool) {
    self.source = source
    self.includeMetadataChanges = includeMetadataChanges
  }

  /// These options with another source.
  public func withSource(_ source: ListenSource) -> SnapshotListenOptions {
    SnapshotListenOptions(source: source, includeMetadataChanges: includeMetadataChanges)
  }

  /// These options with metadata changes included or not.
  public func withIncludeMetadataChanges(_ includeMetadataChanges: Bool) -> SnapshotListenOptions {
    SnapshotListenOptions(source: source, includeMetadataChanges: includeMetadataChanges)
  }

  /// Two options are equal when both properties are.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? SnapshotListenOptions else { return false }
    return source == other.source && includeMetadataChanges == other.includeMetadataChanges
  }

  /// A hash of both properties.
  public override var hash: Int { Int(bitPattern: source.rawValue) &* 2 &+ (includeMetadataChanges ? 1 : 0) }

  var listenOptions: ListenOptions {
    var options = ListenOptions()
    options.includeDocumentMetadataChanges = includeMetadataChanges
    options.includeQueryMetadataChanges = includeMetadataChanges
    options.source = source == .cache ? .cache : .default
    return options
  }
}

/// The result of `addSnapshotListener`: removes the listener. Releasing it does not stop the listener.
public protocol ListenerRegistration: NSObjectProtocol {
  /// Stops the listener: no callback starts after the call has returned, except one that another thread was about to start.
  ///
  /// The call does not wait: a callback that has started on another thread may go on after it. So it may be called with a lock held that
  /// the callback takes too, inside the callback, repeatedly, and after `terminate()`. Callbacks run on the settings' queue, so a call on
  /// that queue (by default the main queue) finds no other callback running, unless the queue is concurrent.
  func remove()
}
