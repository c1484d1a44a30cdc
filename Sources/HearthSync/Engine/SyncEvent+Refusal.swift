internal import HearthModel

extension SyncEvent {
  /// The actions of an engine that has ended: every event that expects an answer gets an error.
  var refusal: [SyncAction] {
    switch self {
    case .listen(let id, _, _): [.raiseError(id, .terminated)]
    case .writes(let writes): writes.map { .writeNotSaved($0.id, .terminated) }
    case .request(let id, _): [.requestFailed(id, .terminated)]
    case .bundleBytes(let id, _), .bundleEnded(let id, _): BundleLoads.failed(id, .failed, .terminated)
    case .start, .unlisten, .abandonRead, .backgroundQueryEnded, .addSnapshotsInSyncListener,
      .removeSnapshotsInSyncListener, .changeUser, .connectivityChanged, .watchStreamOpened, .watchStreamMessage,
      .watchStreamClosed, .writeStreamOpened, .writeStreamMessage, .writeStreamClosed, .lookedUp, .conflictAnswered,
      .timerFired, .setIndexAutoCreation, .observeOutbox, .observeStatus, .othersChanged, .saveWrites,
      .suspend, .resume, .setVisibility, .stopSending, .shutdown:
      []
    }
  }
}
