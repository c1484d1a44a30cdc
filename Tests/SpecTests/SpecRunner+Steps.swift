import EngineHarness
import HearthCache
import HearthModel
import HearthSync

extension SpecRunner {
  private static let expectations: Set<String> = [
    "clientIndex", "expectedSnapshotEvents", "expectedState", "expectedSnapshotsInSyncEvents",
    "expectedWaitForPendingWritesEvents",
  ]

  /// The step's one action, such as "userListen".
  static func action(of step: JSON) -> String {
    guard case .object(let members) = step else { return "\(step)" }
    return members.keys.filter { !expectations.contains($0) }.sorted().joined(separator: " and ")
  }

  func carryOut(_ step: JSON) throws {
    let action = Self.action(of: step)
    let value = try step.object()[action] ?? .null
    if try userActs(action, value) || environmentActs(action, value) || watchStreamSays(action, value) { return }
    switch action {
    case "writeAck": try acknowledgeWrite(value)
    case "failWrite":
      guard let error = try value["error"]?.statusError() else { throw SpecFailure("failWrite without an error") }
      _ = try takeWrite(keepsInQueue: value["keepInQueue"]?.bool() ?? false)
      breakWriteStream(error)
    default: throw SpecFailure("unknown action \"\(action)\"")
    }
  }

  // MARK: - User actions

  private func userActs(_ action: String, _ value: JSON) throws -> Bool {
    switch action {
    case "userListen": try userListens(value)
    case "userUnlisten":
      let query = try value.array(count: 2)[1].query()
      guard let index = listeners.firstIndex(where: { $0.query == query }) else {
        throw SpecFailure("nobody listens to \(query)")
      }
      post(.unlisten(listeners.remove(at: index).id))
    case "userSet":
      let parts = try value.array(count: 2)
      write(.set(try parts[0].documentKey(), try parts[1].mapValue()))
    case "userPatch": write(try patch(value.array(count: 2)))
    case "userDelete": write(.delete(try value.documentKey()))
    case "waitForPendingWrites": waitForPendingWrites()
    case "loadBundle": loadBundle(try value.string())
    case "addSnapshotsInSyncListener": addSnapshotsInSyncListener()
    case "removeSnapshotsInSyncListener": try removeSnapshotsInSyncListener()
    default: return false
    }
    return true
  }

  private func userListens(_ value: JSON) throws {
    guard let query = try value["query"]?.query(), let expectedID = try value["targetId"]?.integer() else {
      throw SpecFailure("userListen needs \"targetId\" and \"query\"")
    }
    var options = ListenOptions(includeDocumentMetadataChanges: true, includeQueryMetadataChanges: true)
    if try value["options"]?["source"]?.string() == "cache" {
      options.source = .cache
      options.leavesOutAcknowledgements = true
    }
    listen(to: query, options)
    let id = engine.targetID(of: query) ?? 0
    guard Int64(id) == expectedID else { throw SpecFailure("target id \(id), expected \(expectedID)") }
    if driver.timers[.listenStreamConnectionBackoff] != nil { try runTimers(until: "listen_stream_connection_backoff") }
  }

  private func patch(_ parts: [JSON]) throws -> Mutation {
    var fields = MapValue()
    var paths: [FieldPath] = []
    for (name, value) in try parts[1].object() {
      let path = try FieldPath(parsingUserFormat: name)
      paths.append(path)
      if value != .string("<DELETE>") { fields.set(try value.value(), at: path) }
    }
    return .patch(try parts[0].documentKey(), fields, mask: FieldMask(paths))
  }

  // MARK: - What else happens to the client

  private func environmentActs(_ action: String, _ value: JSON) throws -> Bool {
    switch action {
    case "changeUser":
      user = value == .null ? nil : try value.string()
      post(.changeUser(user))
    case "enableNetwork": setNetwork(isEnabled: try value.bool())
    case "restart": try restart()
    case "runTimer": try runTimers(until: value.string())
    case "failDatabase": failingTransactions = value == .bool(false) ? [] : Set(try value.strings())
    case "drainQueue": break
    case "shutdown": shutDown()
    case "clearPersistence": try stage.clearPersistence()
    case "applyClientState": try applyClientState(value)
    case "setIndexConfiguration": setIndexes(try value.indexDefinitions())
    case "triggerLruGC":
      let parameters = GarbageCollectionParameters(thresholdBytes: Int64(try value.integer()), percentile: 100)
      _ = try engine.collectGarbage(parameters)
    default: return false
    }
    return true
  }

  private func applyClientState(_ value: JSON) throws {
    if let visibility = try value["visibility"]?.string() { post(.setVisibility(visibility == "visible")) }
    guard try value["primary"]?.bool() == true else { return }
    try stage.eraseLease()
    try runTimers(until: "client_metadata_refresh")
  }

  // MARK: - Watch stream

  private func watchStreamSays(_ action: String, _ value: JSON) throws -> Bool {
    switch action {
    case "watchAck": try deliver(WatchTargetChange(state: .added, targetIDs: value.targetIDs()))
    case "watchCurrent":
      let parts = try value.array(count: 2)
      let token = try Array(parts[1].string().utf8)
      try deliver(WatchTargetChange(state: .current, targetIDs: parts[0].targetIDs(), resumeToken: token))
    case "watchReset": try deliver(WatchTargetChange(state: .reset, targetIDs: value.targetIDs()))
    case "watchRemove":
      let targets = try value["targetIds"]?.targetIDs() ?? []
      let cause = try value["cause"]?.statusError()
      if cause != nil { try reject(targets) }
      try deliver(WatchTargetChange(state: .removed, targetIDs: targets, cause: cause))
    case "watchSnapshot":
      try deliver(
        WatchTargetChange(
          state: .noChange, targetIDs: value["targetIds"]?.targetIDs() ?? [],
          resumeToken: Array((value["resumeToken"]?.string() ?? "").utf8),
          readTime: value["version"]?.version() ?? .none)
      )
    case "watchFilter": try deliverFilter(value)
    case "watchEntity": try deliverEntity(value)
    case "watchStreamClose":
      guard let error = try value["error"]?.statusError() else {
        throw SpecFailure("watchStreamClose without an error")
      }
      try breakWatchStream(error)
      if try value["runBackoffTimer"]?.bool() == true, !listeners.isEmpty {
        try runTimers(until: "listen_stream_connection_backoff")
      }
    default: return false
    }
    return true
  }

  private func deliver(_ change: WatchTargetChange) throws { try deliver(.targetChange(change)) }

  private func deliver(_ message: WatchResponse) throws {
    guard let stream = driver.streams.watch else { throw SpecFailure("no watch stream is open") }
    post(.watchStreamMessage(stream, message))
  }

  private func deliverFilter(_ value: JSON) throws {
    let targets = try value["targetIds"]?.targetIDs() ?? []
    guard targets.count == 1 else { throw SpecFailure("a filter is for one target, not \(targets)") }
    let count = try value["keys"]?.array().count ?? 0
    try deliver(
      .existenceFilter(
        WatchExistenceFilter(
          targetID: targets[0], count: count, unchangedNames: value["bloomFilter"].flatMap { try $0.bloomFilter() })))
  }

  private func deliverEntity(_ value: JSON) throws {
    let updated = try value["targets"]?.targetIDs() ?? []
    let removed = try value["removedTargets"]?.targetIDs() ?? []
    if let key = try value["key"]?.documentKey() {
      try deliver(
        .documentChange(WatchDocumentChange(key: key, updatedTargetIDs: updated, removedTargetIDs: removed)))
    }
    for json in try value["docs"]?.array() ?? value["doc"].map({ [$0] }) ?? [] {
      let document = try json.document(isFromBackend: true)
      // The backend's message about a deleted document names only the targets that it left.
      try deliver(
        .documentChange(
          WatchDocumentChange(
            key: document.key, updatedTargetIDs: document.isFound ? updated : [], removedTargetIDs: removed,
            document: document)))
    }
  }

  // MARK: - Write stream

  private func acknowledgeWrite(_ value: JSON) throws {
    guard let version = try value["version"]?.version() else { throw SpecFailure("writeAck without a version") }
    let stream = try takeWrite(keepsInQueue: value["keepInQueue"]?.bool() ?? false)
    let response = WriteResponse(
      streamToken: Array("write-stream-token-\(writeRequestCount)".utf8), commitVersion: version,
      results: [MutationResult(version: version)])
    post(.writeStreamMessage(stream, response))
  }
}
