import EngineHarness
import HearthModel
import HearthSync

/// Messages of the backend at the command of the test.
extension TestClient {
  // MARK: - The backend on the watch stream

  func send(_ message: WatchResponse) throws {
    guard driver.send(message) else { throw TestFailure("no watch stream is open") }
  }

  private func change(
    _ state: WatchTargetChange.State, _ targets: [TargetID], token: String = "", at time: Int64 = 0,
    cause: StatusError? = nil
  ) throws {
    try send(
      .targetChange(
        WatchTargetChange(
          state: state, targetIDs: targets, resumeToken: Array(token.utf8), readTime: version(time), cause: cause)))
  }

  func acknowledge(_ targets: TargetID...) throws { try change(.added, targets) }
  func acknowledgeRemoval(_ targets: TargetID...) throws { try change(.removed, targets) }
  func reset(_ targets: TargetID...) throws { try change(.reset, targets) }

  func reject(_ target: TargetID, _ code: StatusCode) throws {
    _ = driver.streams.drop(target)
    try change(.removed, [target], cause: error(code))
  }

  func put(_ documents: Document..., into targets: TargetID...) throws {
    for document in documents {
      try send(
        .documentChange(WatchDocumentChange(key: document.key, updatedTargetIDs: targets, document: document)))
    }
  }

  func take(_ path: String, outOf targets: TargetID..., as state: Document? = nil) throws {
    try send(.documentChange(WatchDocumentChange(key: key(path), removedTargetIDs: targets, document: state)))
  }

  func count(_ count: Int, in target: TargetID, names: BloomFilterData? = nil) throws {
    try send(.existenceFilter(WatchExistenceFilter(targetID: target, count: count, unchangedNames: names)))
  }

  func current(_ targets: TargetID..., token: String) throws { try change(.current, targets, token: token) }

  func snapshot(_ time: Int64, token: String = "") throws { try change(.noChange, [], token: token, at: time) }

  /// Answers a new listen completely.
  func fill(_ target: TargetID, _ documents: [Document], at time: Int64) throws {
    try acknowledge(target)
    for document in documents { try put(document, into: target) }
    try current(target, token: "token-\(time)")
    try snapshot(time)
  }

  func breakWatchStream(_ code: StatusCode = .unavailable) throws {
    guard driver.breakWatchStream(error(code)) else { throw TestFailure("no watch stream is open") }
  }

  // MARK: - The backend on the write stream

  /// Commits the first batch that has no answer.
  ///
  /// - Parameter transformResults: The results of the transforms of each mutation.
  func commit(at time: Int64, transformResults: [[Value]] = []) throws {
    guard driver.answerWrite({ .success(response(to: $0, at: time, transformResults)) }) else {
      throw TestFailure("no batch was sent")
    }
  }

  private func response(to batch: SentBatch, at time: Int64, _ transformResults: [[Value]] = []) -> WriteResponse {
    let results = batch.mutations.indices.map { index in
      MutationResult(
        version: version(time),
        transformResults: transformResults.indices.contains(index) ? transformResults[index] : [])
    }
    return WriteResponse(committedAt: version(time), results)
  }

  /// Commits the first batch that has no answer on the oldest of the closed write streams.
  func commitLate(at time: Int64) throws {
    guard driver.answerParting({ .success(response(to: $0, at: time)) }) else {
      throw TestFailure("no stream owes an answer")
    }
  }

  /// Ends the oldest of the closed write streams.
  func endParting() throws {
    guard driver.endParting() else { throw TestFailure("no write stream was closed") }
  }

  /// Refuses the first batch that has no answer, which ends the stream.
  func refuseWrite(_ code: StatusCode) throws {
    guard driver.breakWriteStream(error(code)) else { throw TestFailure("no write stream is open") }
  }
}
