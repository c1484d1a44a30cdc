import EngineHarness
import Foundation
import HearthCache
import HearthModel
import HearthStore
import HearthSync
import HearthWire
import SwiftProtobuf

/// An engine on a memory cache that listens to the query of all listen files: the collection "C", ordered by "a".
final class ListeningClient {
  /// The snapshots that the listener got for one step.
  struct Round {
    var raised: [ViewSnapshot] = []
    /// The last complete result before.
    var documentsBefore: [Document] = []
    /// True if there was no complete result before.
    var isFirst = false
  }

  static let databaseID = DatabaseID(projectID: "projectID")

  private let translator = WireTranslator(database: databaseID)
  private let listener = ListenerID(rawValue: 1)
  private let engine: SyncEngine
  private lazy var driver = EngineDriver(delegate: self)
  /// The target that the files call 1.
  private var target: TargetID?
  /// Documents that the client asks about because they left the result and still match.
  private var lookups: [TargetID] = []

  private var lastComplete: [Document]?
  private var raised: [ViewSnapshot] = []
  /// When the last consistent snapshot was taken.
  private(set) var readTime = SnapshotVersion.none
  private(set) var error: StatusError?
  /// The rule that the engine has broken.
  private var problem: String?

  init() throws {
    let store = try LocalStore(
      database: Database(.memory), databaseID: Self.databaseID, garbageCollection: .eager, user: nil,
      newCacheID: "conformance")
    engine = SyncEngine(localStore: store, configuration: SyncConfiguration(jitter: { 0 }))
    var query = Query(path: try ResourcePath(parsing: "C"))
    query.explicitOrders = [OrderBy(path: try FieldPath(["a"]), direction: .ascending)]
    // With metadata, so that it can be seen when a result from the cache becomes complete.
    let options = ListenOptions(includeQueryMetadataChanges: true, waitForSyncWhenOnline: true)
    driver.post(.start)
    driver.post(.listen(listener, query, options))
    guard let target else { throw MalformedCase("the client asked for no target") }
    try acknowledge(target)
  }

  /// Hands over one message of the file and answers what the client asks because of it.
  func receive(_ json: JSON) throws -> Round {
    try send(try message(json))
    while let lookup = lookups.popLast() {
      // The files' backend takes a document that it removes from the result for gone.
      try acknowledge(lookup)
      try send(.targetChange(WatchTargetChange(state: .current, targetIDs: [lookup])))
      try send(.targetChange(WatchTargetChange(state: .noChange, targetIDs: [], readTime: readTime)))
    }
    guard let last = raised.last, !last.isFromCache else { return Round() }
    let round = Round(raised: raised, documentsBefore: lastComplete ?? [], isFirst: lastComplete == nil)
    lastComplete = Array(last.documents)
    raised = []
    return round
  }

  /// The message with the target ids that the client chose.
  private func message(_ json: JSON) throws -> WatchResponse {
    let message = try Google_Firestore_V1_ListenResponse(jsonString: json.withDocumentBytes().text)
    switch try translator.decode(message) {
    case .targetChange(var change):
      change.targetIDs = change.targetIDs.map(chosen)
      return .targetChange(change)
    case .documentChange(var change):
      change.updatedTargetIDs = change.updatedTargetIDs.map(chosen)
      change.removedTargetIDs = change.removedTargetIDs.map(chosen)
      // The files leave out the only target where server SDKs do not look: in deletions and removals.
      if change.updatedTargetIDs.isEmpty, change.removedTargetIDs.isEmpty { change.removedTargetIDs = [chosen(1)] }
      return .documentChange(change)
    case .existenceFilter(var filter):
      filter.targetID = chosen(filter.targetID == 0 ? 1 : filter.targetID)
      return .existenceFilter(filter)
    case .unreadable(let message):
      throw MalformedCase(message.error.message)
    }
  }

  private func chosen(_ id: TargetID) -> TargetID {
    guard id == 1, let target else { return id }
    return target
  }

  // MARK: - The backend

  /// The files begin after the backend has answered the request.
  private func acknowledge(_ id: TargetID) throws {
    try send(.targetChange(WatchTargetChange(state: .added, targetIDs: [id])))
  }

  private func send(_ message: WatchResponse) throws {
    guard driver.streams.watch != nil else { throw MalformedCase("the client closed the stream") }
    if case .targetChange(let change) = message, change.state == .noChange, change.targetIDs.isEmpty,
      change.readTime != .none
    {
      readTime = change.readTime
    }
    driver.send(message)
    if let problem { throw MalformedCase(problem) }
  }
}

extension ListeningClient: EngineDriverDelegate {
  func handle(_ event: SyncEvent, at now: Duration) -> [SyncAction] { engine.handle(event, now: now) }
  func fail(_ text: String) { problem = problem ?? text }

  func received(_ request: WatchRequest, on id: StreamID) {
    guard case .addTarget(let request) = request else { return }
    if request.purpose == .limboResolution { lookups.append(request.targetID) } else { target = request.targetID }
  }
  func raised(_ snapshot: ViewSnapshot, for id: ListenerID) { raised.append(snapshot) }
  func ended(_ id: ListenerID, _ error: StatusError) { self.error = error }
}

extension JSON {
  /// A ListenResponse whose document is in base64: our messages carry documents as bytes.
  fileprivate func withDocumentBytes() throws -> JSON {
    guard let change = self["documentChange"], let document = change["document"] else { return self }
    let bytes = try Google_Firestore_V1_Document(jsonString: document.text).serializedBytes() as Data
    return with("documentChange", change.with("document", .string(bytes.base64EncodedString())))
  }
}
