internal import HearthCache
package import HearthModel

/// The timers that the engine asks for. At most one of each kind runs at a time.
package enum TimerKind: String, Hashable, Sendable, CaseIterable {
  /// Closes a watch stream that has had no target for a minute.
  case listenStreamIdle
  /// Ends the pause before the watch stream is opened again.
  case listenStreamConnectionBackoff
  /// Closes a write stream that has had no write for a minute.
  case writeStreamIdle
  /// Ends the pause before the write stream is opened again.
  case writeStreamConnectionBackoff
  /// Ends the wait for the backend's first answer: the client is offline.
  case onlineStateTimeout
  /// Ends the wait of reads for answers to writes of the user.
  case ownWritesTimeout
  /// Ends the wait of reads for targets about which the backend says nothing.
  case answerTimeout
  /// Repeats a storage operation that failed.
  case asyncQueueRetry
  /// Starts a garbage collection of the cache, or does the next step of the one that is under way.
  case lruGarbageCollection
  /// Lets a client that shares its cache look after the lease, and for news that it was not woken for.
  case clientMetadataRefresh
  /// Ends the pause before the documents of a conflict are read again.
  case conflictRetry
  /// Fills indexes, or removes what is left of those that were given up, for one more step.
  case indexBackfill
}

/// The events of a client, in the order in which they happen.
///
/// Events about a stream or timer that is no longer current are ignored, except answers on a write stream that was closed in good
/// order, and its end.
package enum SyncEvent: Sendable {
  /// The first event: storage is opened for reading and the network may be used.
  case start

  case listen(ListenerID, Query, ListenOptions)
  case unlisten(ListenerID)
  /// Nobody waits for the answer to a read any more. The read goes on, so that the answer comes into the cache, unless another listener brings
  /// that as well: then it ends with what the cache has.
  case abandonRead(ListenerID)
  /// The writes that wait together, each a batch of its own, made durable in one commit.
  case writes([LocalWrite])
  /// An operation with one answer.
  case request(RequestID, EngineRequest)
  case addSnapshotsInSyncListener(ListenerID)
  case removeSnapshotsInSyncListener(ListenerID)
  /// The result of ``BackgroundQueryJob/run(concurrently:)`` for an action ``SyncAction/runBackgroundQuery(_:)``.
  case backgroundQueryEnded(BackgroundQueryID, Result<BackgroundQueryResult, any Error>)

  /// True if ``SyncAction/outboxChanged`` is wanted.
  case observeOutbox(Bool)
  /// True if ``SyncAction/statusChanged`` is wanted.
  case observeStatus(Bool)
  /// True if an index is added for a query that would have been faster with it.
  case setIndexAutoCreation(Bool)

  /// The next bytes of a bundle; the first ones begin its loading. It is answered like a request.
  case bundleBytes(RequestID, [UInt8])
  /// The bundle has come to its end, or its source has failed.
  case bundleEnded(RequestID, StatusError?)

  /// The signed-in user (`nil` if none is), or the same one again after the credentials were renewed.
  case changeUser(String?)
  /// Another client of the cache may have changed something.
  case othersChanged
  /// A caller asks whether the writes that wait for another process are saved: they are tried again. See ``SyncEngine/heldWriteIDs``.
  case saveWrites
  /// The process is about to stop for a while, without its locks.
  case suspend
  /// The process goes on after ``suspend``.
  case resume
  /// True if the client is in the foreground, so that it should hold the lease rather than one that is not.
  case setVisibility(Bool)
  /// The machine's network changed: connections are worth a new attempt at once.
  case connectivityChanged

  case watchStreamOpened(StreamID)
  case watchStreamMessage(StreamID, WatchResponse)
  case watchStreamClosed(StreamID, StatusError?)
  case writeStreamOpened(StreamID)
  case writeStreamMessage(StreamID, WriteResponse)
  case writeStreamClosed(StreamID, StatusError?)

  /// The end of ``SyncAction/lookUp(_:_:)``.
  case lookedUp(LookUpID, LookUpOutcome)
  /// The application's answer to ``SyncAction/askResolver(_:_:)``, or its failure.
  case conflictAnswered(ConflictID, Result<ConflictAnswer, StatusError>)

  case timerFired(TimerKind)
  /// The client ends soon: nothing more is sent or watched. While ``SyncEngine/awaitsAnswers`` is true, answers still count.
  case stopSending
  /// The last event; later ones are refused.
  case shutdown
}

/// The end of ``SyncAction/lookUp(_:_:)``.
package enum LookUpOutcome: Sendable {
  /// One document for each key, found or missing.
  case success([Document])
  /// The backend could not be asked, or has refused.
  case failure(StatusError)
  /// The backend has sent a document that this release cannot read, and will do so again.
  case unreadable(StatusError)
}
