internal import Foundation
internal import HearthModel
internal import HearthSync

/// A call of the application to a client, in the order of the calls.
enum ClientCall: Sendable {
  /// Each is a batch of its own. ``ClientLoop`` joins those that wait together.
  case writes([WriteCall])
  case listen(Listener<SnapshotEvent>, HearthModel.Query, ListenOptions, isOneShot: Bool)
  case unlisten(ListenerID)
  /// Nobody waits for the answer to a one-time read any more.
  case abandonRead(ListenerID)
  case listenForSync(Listener<Void>)
  case unlistenForSync(ListenerID)
  case observeOutbox(Listener<OutboxEvent>)
  case unobserveOutbox(ListenerID)
  case observeStatus(Listener<StatusEvent>)
  case unobserveStatus(ListenerID)
  case request(RequestID, ClientRequest)
  case bundleBytes(RequestID, [UInt8], taken: @Sendable (_ wantsMore: Bool) -> Void)
  case bundleEnded(RequestID, StatusError?)
  case setIndexAutoCreation(isEnabled: Bool)
  case changeUser(String?)

  /// True if the call needs the cache and reports a failure to its caller.
  var needsCache: Bool {
    switch self {
    case .writes, .listen, .request, .observeOutbox, .observeStatus: true
    case .unobserveOutbox, .unobserveStatus, .unlisten, .abandonRead, .listenForSync, .unlistenForSync, .bundleBytes,
      .bundleEnded, .setIndexAutoCreation, .changeUser:
      false
    }
  }

  /// True if a running client keeps the call while another process holds the cache's file. Other calls fail then, for their callers can
  /// repeat them, or ask something else.
  var waitsForFile: Bool {
    switch self {
    case .listen(_, _, _, let isOneShot): !isOneShot
    case .request(_, let request): request.waitsForFile
    case .bundleBytes: false
    case .writes, .unlisten, .abandonRead, .listenForSync, .unlistenForSync, .observeOutbox, .unobserveOutbox,
      .observeStatus, .unobserveStatus, .bundleEnded, .setIndexAutoCreation, .changeUser:
      true
    }
  }

  /// True if the call waits for as long as a client cannot reopen its damaged cache, like the writes that it holds already: it is a
  /// write, or changes what the client goes on with.
  var isKept: Bool {
    switch self {
    case .writes, .unlistenForSync, .unobserveOutbox, .unobserveStatus, .changeUser, .setIndexAutoCreation,
      .listenForSync:
      true
    case .listen, .unlisten, .abandonRead, .observeOutbox, .observeStatus, .request, .bundleBytes, .bundleEnded: false
    }
  }

  /// Ends a call that no client takes.
  ///
  /// - Parameter error: The reason why the client cannot run; nil if it was terminated: tasks and callbacks of writes then get `cancelled`,
  ///   and callbacks of listeners are not called.
  func refuse(_ error: NSError?) {
    switch self {
    case .writes(let writes):
      for write in writes { write.refuse(error) }
    case .listen(let listener, _, _, _):
      if let error { listener.deliver(.failure(error)) } else { listener.endSilently() }
    case .observeOutbox(let listener):
      listener.deliver(.failure(error ?? .terminated))
    case .observeStatus(let listener):
      listener.deliver(.failure(error ?? .terminated))
    case .request(_, let request):
      request.fail(error ?? .terminated)
    case .bundleBytes(_, _, let taken):
      taken(false)
    case .unobserveOutbox, .unobserveStatus, .unlisten, .abandonRead, .listenForSync, .unlistenForSync, .bundleEnded,
      .setIndexAutoCreation, .changeUser:
      break
    }
  }
}

/// A local write with its caller.
struct WriteCall: Sendable {
  /// Has an identity if it was drawn before, for a write with a receipt, whose outcome is kept under it.
  var write: LocalWrite
  /// Nil for a write without a completion, unless its end is measured.
  var completion: WriteCompletion?
  /// False if nobody hears of a refusal.
  var hasCaller: Bool { completion?.hasCaller ?? false }

  fileprivate func refuse(_ error: NSError?) {
    let error = error ?? AbandonedWrites.unsavedError(.terminated)
    HearthLog.error("A write was not saved: \(error.localizedDescription)")
    completion?.refuse(error)
  }
}

/// The callbacks of a write.
struct WriteCompletion: Sendable {
  let finish: @Sendable (NSError?) -> Void
  /// The client has ended before the answer: plain completions are then never called, waiting tasks get the error
  /// (``AbandonedWrites``).
  let abandon: @Sendable (NSError) -> Void
  /// Nil for a write without a receipt.
  var receipt: ReceiptCallbacks?
  /// False if only the instruments hear of the end.
  var hasCaller = true

  /// Ends a write that is not stored, and will not be.
  func refuse(_ error: NSError) {
    receipt?.ended(.failure(error))
    finish(error)
  }
}

/// The callbacks through which a receipt learns about its write.
struct ReceiptCallbacks: Sendable {
  let identity: BatchIdentity
  /// The write is durable on this device.
  let saved: @Sendable () -> Void
  /// The write has ended: with an outcome that is kept, or without one.
  let ended: @Sendable (Result<WriteOutcome, NSError>) -> Void
}

extension NSError {
  static var terminated: NSError { .firestore(.cancelled, "The client was terminated before the operation ended.") }
}

extension Listener where Event == SnapshotEvent {
  /// The client was terminated: tasks that wait for a snapshot end, callbacks are just not called any more.
  func endSilently() {
    if isAwaited { deliver(.failure(.terminated)) }
    remove()
  }
}
