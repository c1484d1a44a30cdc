internal import Foundation
internal import HearthCache
internal import HearthModel
internal import HearthStore
internal import HearthSync

/// A client without its cache. Another process, or another client of this one, has the folder for itself or with another backend.
///
/// | phase | operations | ends |
/// |---|---|---|
/// | waiting, at most ``limit`` | wait in order, and then take effect as if the folder had been free | the folder is free, or the time is over |
/// | waiting for the file, without a limit: the folder is free, but another process holds the file, for example a process stopped in a transaction | as in a running client: writes and listeners wait, in order; calls that can be repeated end after ``limit`` with `unavailable` | the file is free |
/// | waiting for a process that was given the folder, and still wants it: it migrates a large file, for example | likewise | that process has failed, or has succeeded |
/// | given up | each one first tries to open the folder, once and without waiting. If that fails, it gets the error; if this client asks others to give the folder back, it waits as before | the folder is free |
///
/// Nothing here blocks: the loop tries the folder and is free in the pauses. Confined to the loop.
final class FolderWait {
  let configuration: ClientConfiguration
  /// True if the client had released the folder for a suspension. Then it may open the cache again later, whichever process has used the folder.
  var followsSuspension = false
  private let deadline: ContinuousClock.Instant
  private var pause = FolderWait.firstPause
  private var held: [ClientLoop.Message] = []
  /// The time until which operations do not try to open the folder.
  private var restEnd: ContinuousClock.Instant?
  /// The error of operations that do not wait for longer; nil before the time is over.
  private var fileError: NSError?

  /// The longest wait: more than another process needs to close the folder, less than a person would wait.
  static let limit: Duration = .seconds(5)
  private static let firstPause: Duration = .milliseconds(10)
  private static let longestPause: Duration = .milliseconds(250)
  /// The pause between attempts after that.
  static let pauseAfterLimit: Duration = .seconds(1)
  /// The pause between attempts to open a cache that its disk does not let be opened. Each may copy an outbox.
  static let pauseAfterFailure: Duration = .seconds(10)
  private static let shortAttempt: Duration = .milliseconds(100)

  init(_ configuration: ClientConfiguration) {
    self.configuration = configuration
    deadline = .now + configuration.folderWaitLimit
  }

  /// The time for which a client keeps the folder after releasing it did not help. It is two fifths of the limit. So the client has time to
  /// work if one process keeps asking while another one is stopped, and a process that asks later waits long enough to get the folder.
  var restAfterYielding: Duration { configuration.folderWaitLimit * 2 / 5 }

  /// True while operations report the known error, because the last attempt took long and was in vain.
  var rests: Bool { restEnd.map { ContinuousClock.now < $0 } ?? false }

  /// An attempt to open the folder has failed, and not because it is in use. Where the cache is damaged as well, each attempt may copy an
  /// outbox, so there is a pause before the next.
  func attemptFailed(after time: Duration) {
    restEnd = time > Self.shortAttempt ? .now + time * 4 : nil
  }

  var isOver: Bool { ContinuousClock.now >= deadline }

  /// The pause before the next attempt, each longer than the one before; nil when the time is over.
  func nextPause() -> Duration? {
    guard !isOver else { return nil }
    defer { pause = min(pause * 2, Self.longestPause) }
    return pause
  }

  /// The pause before the next attempt after one has failed. While another process holds the file, it does not matter how long that takes.
  ///
  /// - Returns: Nil if no attempt follows.
  func nextPause(after error: any Error) -> Duration? {
    guard Self.isWorthwhile(after: error) else { return nil }
    if let pause = nextPause() { return pause }
    // A program that is content with a cache in memory is not kept waiting.
    guard Self.isFileHeld(error), configuration.cacheOpened == nil else { return nil }
    return endTime(after: error)
  }

  /// Ends the operations that can be asked again, now and from now on, with the error. The others go on waiting.
  ///
  /// - Returns: The pause before the next attempt.
  func endTime(after error: any Error) -> Duration {
    fileError = .firestore(Self.givenUp(error))
    let held = takeHeld()
    for message in held { hold(message) }
    return Self.pauseAfterLimit
  }

  /// Keeps an operation until it is known whether the cache opens, if it can wait.
  func hold(_ message: ClientLoop.Message) {
    if let fileError, case .call(let call) = message, !call.waitsForFile { return call.refuse(fileError) }
    held.append(message)
  }

  /// Returns the operations that were held, in order, and forgets them.
  func takeHeld() -> [ClientLoop.Message] {
    defer { held = [] }
    return held
  }

  /// The writes among the operations that are held.
  var heldWriteCount: Int {
    held.reduce(0) { if case .call(.writes(let writes)) = $1 { $0 + writes.count } else { $0 } }
  }

  /// Ends the operations that were held, because the client is terminated.
  ///
  /// - Parameter lost: Gets the writes among them.
  func refuseHeld(_ lost: LostWrites) {
    let reason = "The cache's folder is in use."
    let error = NSError.firestore(StatusError.notSaved(writeCount: heldWriteCount, because: reason))
    for case .call(let call) in takeHeld() {
      guard case .writes(let writes) = call else {
        call.refuse(nil)
        continue
      }
      lost.add(writes, isEnd: true, because: reason)
      call.refuse(error)
    }
  }

  /// Returns whether every later operation tries again to open the cache. It does so also where waiting does not help: the disk is full or
  /// fails, or the folder is missing.
  static func mayPass(_ error: any Error) -> Bool {
    if isWorthwhile(after: error) { return true }
    switch (error as? StoreError)?.kind {
    case .full, .io, .cannotOpen, .readOnly: return true
    default: return false
    }
  }

  /// Returns whether opening may succeed soon without any change to the set-up.
  static func isWorthwhile(after error: any Error) -> Bool {
    if case CacheError.otherBackend = error { return true }
    return (error as? StoreError)?.kind == .unavailable
  }

  /// Returns whether the folder is free and another process holds the file in it.
  private static func isFileHeld(_ error: any Error) -> Bool {
    guard let error = error as? StoreError else { return false }
    return error.kind == .unavailable && error.sqliteCode != 0
  }

  /// The error for callers when the time is over.
  static func givenUp(_ error: any Error) -> any Error {
    guard let error = error as? StoreError, error.kind == .unavailable else { return error }
    return StoreError(
      kind: error.kind,
      message: error.message
        + " It was not free within \(limit.components.seconds) seconds; every later call tries again.",
      sqliteCode: error.sqliteCode)
  }
}

/// Choices that callers made before the client could start and do not repeat, above all the present user. They are the first
/// messages of a client that starts late.
struct ClientChoices {
  private var userChange: ClientCall?
  private var indexes: ClientCall?
  private var network: ClientCall?
  /// The listeners that were added and not removed, those of a running client included. They are not called with errors, so that callers would not
  /// add them again.
  private var syncListeners: [ListenerID: Listener<Void>] = [:]

  mutating func note(_ call: ClientCall) {
    switch call {
    case .changeUser:
      userChange = call
    case .setIndexAutoCreation:
      indexes = call
    case .request(let id, let request):
      // The caller has an answer: that the client could not run.
      if let state = request.networkState { network = .request(id, .networkSwitch(isEnabled: state) { _ in }) }
    case .listenForSync(let listener):
      syncListeners[listener.id] = listener
    case .unlistenForSync(let id):
      syncListeners[id] = nil
    case .writes, .listen, .unlisten, .abandonRead, .observeOutbox, .unobserveOutbox, .observeStatus, .unobserveStatus,
      .bundleBytes, .bundleEnded:
      break
    }
  }

  var messages: [ClientLoop.Message] {
    [userChange, indexes, network].compactMap { $0.map(ClientLoop.Message.call) }
  }

  /// The messages that add the listeners for "snapshots in sync" to a client that has none of them.
  var listeners: [ClientLoop.Message] {
    syncListeners.values.sorted { $0.id.rawValue < $1.id.rawValue }.map { .call(.listenForSync($0)) }
  }

  /// Ends the listeners of a client that will not run again.
  mutating func endListeners() {
    for (_, listener) in syncListeners { listener.remove() }
    syncListeners = [:]
  }
}
