package import HearthModel

/// The severity of a log line.
package enum LogLevel: Int, Comparable, Sendable {
  case debug, notice, warning, error

  package static func < (a: LogLevel, b: LogLevel) -> Bool {
    a.rawValue < b.rawValue
  }
}

/// A piece of work for the runtime. Actions are carried out in the order in which the engine returns them.
package enum SyncAction: Equatable, Sendable {
  case openWatchStream(StreamID)
  case sendWatch(StreamID, WatchRequest)
  case closeWatchStream(StreamID)
  case openWriteStream(StreamID)
  case sendWrite(StreamID, WriteRequest)
  /// Ends the stream in good order. Answers that come before the end are still events, and the end is one in any case
  /// (``SyncEvent/writeStreamClosed(_:_:)``); it comes soon, because batches may wait for it.
  case closeWriteStream(StreamID)
  /// Streams and calls that are opened from here on are this user's, whose outbox the cache now shows. Comes while no
  /// stream is open.
  case switchUser(String?)

  /// The network may have changed: the next stream or call makes a connection of its own.
  case dropConnection

  /// Starts a timer; one of the same kind that still runs is replaced.
  case startTimer(TimerKind, after: Duration)
  case cancelTimer(TimerKind)

  case raiseSnapshot(ListenerID, ViewSnapshot)
  /// The listener ends with this error and hears nothing more.
  case raiseError(ListenerID, StatusError)
  case snapshotsInSync(ListenerID)
  /// So many documents have come from the backend for the listener's query since it began, changed and unchanged ones. Only for listeners
  /// that ask for it, and not for each document.
  case documentsReceived(ListenerID, count: Int)
  /// A write whose outcome is kept is durable on this device.
  case writeSaved(WriteID)
  /// Something in the outbox, in its state or in the list of refused writes has changed. Only while it is observed.
  case outboxChanged
  /// Something in ``SyncEngine/status`` or in the outbox has changed. Only while the status is observed.
  case statusChanged
  /// The write has ended without being stored, as far as is known.
  case writeNotSaved(WriteID, StatusError)
  /// The backend accepted (`nil`) or rejected the write, or what was stored of it is lost.
  case completeWrite(WriteID, StatusError?)
  /// The request has ended well, or the bundle is loaded.
  case answer(RequestID, EngineAnswer)
  /// The request or the loading of the bundle has failed.
  case requestFailed(RequestID, StatusError)

  /// Reads documents from the backend, once. Its end is ``SyncEvent/lookedUp(_:_:)``, which comes in any case.
  case lookUp(LookUpID, [DocumentKey])
  /// Asks the application how to resolve a conflict. Its answer is ``SyncEvent/conflictAnswered(_:_:)``.
  case askResolver(ConflictID, DocumentConflict)
  /// The answer to a question is not needed any more: the write was taken back, or another process or user has its turn.
  case cancelQuestion(ConflictID)

  /// Conflicts were resolved, and what was decided is stored.
  case conflictsResolved([ConflictReport])

  /// Runs a big query on another thread, while further events are handled; its end is ``SyncEvent/backgroundQueryEnded(_:_:)``.
  case runBackgroundQuery(BackgroundQueryJob)
  /// The query is not needed any more and should end soon; its result is ignored.
  case cancelBackgroundQuery(BackgroundQueryID)

  /// Reports the progress of loading a bundle. After `success` or `failed` comes the answer or the failure, and further bytes are
  /// ignored.
  case bundleProgress(RequestID, BundleProgress)

  /// Other clients of the cache have news to read: they are to get ``SyncEvent/othersChanged``.
  case wakeOthers
  /// Another process is about to delete the cache or to take it over. The client must release the cache until it is known whether that
  /// happens.
  case yieldCache

  /// The backend refused the credentials: get new ones before the next stream is opened.
  case invalidateCredentials
  case onlineStateChanged(OnlineState)
  case log(LogLevel, String)
}
