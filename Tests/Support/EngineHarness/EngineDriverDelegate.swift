package import HearthModel
package import HearthSync

/// The decisions of a test about the engine it drives, and the reports that it wants. Everything but the engine has a default: streams open
/// at once, handshakes are answered, and there are no listeners.
package protocol EngineDriverDelegate: AnyObject {
  // The loop

  /// Hands the event to the engine, with what has to happen right before and after.
  func handle(_ event: SyncEvent, at now: Duration) -> [SyncAction]
  /// Handles the events that wait, with ``EngineDriver/drain()`` by default.
  func drain(_ driver: EngineDriver)
  /// False once the engine gets no more events, because its process has ended.
  var takesEvents: Bool { get }
  /// The action is about to be carried out.
  ///
  /// - Returns: false if the process ends before, so that this action and the rest are not carried out.
  func willCarryOut(_ action: SyncAction) -> Bool
  /// The event was handled, and its actions were carried out.
  func didHandle(_ event: SyncEvent)
  /// No event waits any more, or the engine takes none.
  func cameToRest()
  /// Something happened that must never happen.
  func fail(_ text: String)

  // Streams

  /// The outcome of an attempt to open a stream.
  func answer(to attempt: StreamTable.Attempt) -> StreamOpening
  /// The open watch stream has ended, on whichever side.
  func watchStreamEnded()
  /// The engine closes a watch stream, open or not.
  func closedWatchStream(_ id: StreamID)
  /// The engine closes a write stream.
  ///
  /// - Parameter wasOpen: False if it was only on the way to that, or is broken.
  func closedWriteStream(_ id: StreamID, wasOpen: Bool) -> StreamEnd
  func received(_ request: WatchRequest, on id: StreamID)
  func received(_ request: WriteRequest, on id: StreamID)
  /// The backend's answer to a handshake; nil if it comes later.
  var handshake: WriteResponse? { get }
  /// The engine has sent a batch.
  ///
  /// - Returns: The batch as the table is to remember it; nil if the backend does not get it.
  func sent(_ batch: SentBatch, on id: StreamID) -> SentBatch?
  func switchedUser()
  func droppedConnection()
  func invalidatedCredentials()

  // Timers

  func cancelled(_ timer: TimerKind)

  // Listeners and callers

  func raised(_ snapshot: ViewSnapshot, for id: ListenerID)
  func ended(_ id: ListenerID, _ error: StatusError)
  func isInSync(_ id: ListenerID)
  func received(_ count: Int, for id: ListenerID)
  func saved(_ id: WriteID)
  /// - Parameter wasOpen: False if the write has ended before, or belongs to another engine.
  func completed(_ id: WriteID, _ error: StatusError?, wasOpen: Bool)
  func answered(_ id: RequestID, _ answer: EngineAnswer)
  func failed(_ id: RequestID, _ error: StatusError)
  func progressed(_ id: RequestID, _ progress: BundleProgress)
  func outboxChanged()
  func statusChanged()
  func onlineStateChanged(_ state: OnlineState)
  func logged(_ level: LogLevel, _ text: String)

  // Conflicts

  /// The engine asks the application; the question is not among the open ones yet.
  func asked(_ id: ConflictID, _ conflict: DocumentConflict)
  /// The engine takes a question back; it is still among the open ones.
  func cancelled(_ id: ConflictID)
  func resolved(_ conflicts: [ConflictReport])

  // Other clients of the cache

  func wakeOthers()
  func yieldCache()
}

/// The outcome of an attempt to open a stream.
package enum StreamOpening {
  /// It succeeds at once.
  case opens
  case fails(StatusError)
  /// It succeeds at once, and the stream ends right after that.
  case opensAndFails(StatusError)
  /// Its end comes with ``EngineDriver/endOpening(with:)``, or never.
  case waits
}

/// When a write stream ends that the engine has closed.
package enum StreamEnd {
  case atOnce
  /// With ``EngineDriver/endParting()``; until then batches may be answered.
  case later
  /// Nobody hears of its end.
  case silently
}

extension EngineDriverDelegate {
  package func drain(_ driver: EngineDriver) { driver.drain() }
  package var takesEvents: Bool { true }
  package func willCarryOut(_ action: SyncAction) -> Bool { true }
  package func didHandle(_ event: SyncEvent) {}
  package func cameToRest() {}

  package func answer(to attempt: StreamTable.Attempt) -> StreamOpening { .opens }
  package func watchStreamEnded() {}
  package func closedWatchStream(_ id: StreamID) {}
  package func closedWriteStream(_ id: StreamID, wasOpen: Bool) -> StreamEnd { .atOnce }
  package func received(_ request: WatchRequest, on id: StreamID) {}
  package func received(_ request: WriteRequest, on id: StreamID) {}
  package var handshake: WriteResponse? { WriteResponse(streamToken: [0]) }
  package func sent(_ batch: SentBatch, on id: StreamID) -> SentBatch? { batch }
  package func switchedUser() {}
  package func droppedConnection() {}
  package func invalidatedCredentials() {}

  package func cancelled(_ timer: TimerKind) {}

  package func raised(_ snapshot: ViewSnapshot, for id: ListenerID) {}
  package func ended(_ id: ListenerID, _ error: StatusError) {}
  package func isInSync(_ id: ListenerID) {}
  package func received(_ count: Int, for id: ListenerID) {}
  package func saved(_ id: WriteID) {}
  package func completed(_ id: WriteID, _ error: StatusError?, wasOpen: Bool) {}
  package func answered(_ id: RequestID, _ answer: EngineAnswer) {}
  package func failed(_ id: RequestID, _ error: StatusError) {}
  package func progressed(_ id: RequestID, _ progress: BundleProgress) {}
  package func outboxChanged() {}
  package func statusChanged() {}
  package func onlineStateChanged(_ state: OnlineState) {}
  package func logged(_ level: LogLevel, _ text: String) {}

  package func asked(_ id: ConflictID, _ conflict: DocumentConflict) {}
  package func cancelled(_ id: ConflictID) {}
  package func resolved(_ conflicts: [ConflictReport]) {}

  package func wakeOthers() {}
  package func yieldCache() {}
}
