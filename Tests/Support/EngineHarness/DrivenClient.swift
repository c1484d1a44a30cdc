package import HearthModel
package import HearthSync

/// A client of a test whose engine is driven. The client itself answers questions about its driver's memory.
package protocol DrivenClient: EngineDriverDelegate {
  var driver: EngineDriver { get }
}

extension DrivenClient {
  package var now: Duration { driver.now }
  package var timers: DeviceTimers { driver.timers }
  package var watchStream: StreamID? { driver.streams.watch }
  package var writeStream: StreamID? { driver.streams.write }
  /// Streams that were asked for and are neither open nor refused.
  package var opening: [StreamTable.Attempt] { driver.streams.opening }
  /// The user for whom the engine opens streams.
  package var streamUser: String? { driver.streamUser }
  /// The batches on the open write stream that have no answer.
  package var writeRequests: [SentBatch] { driver.streams.batches }
  /// The write streams that the client has closed, oldest first, with the batches that the backend may still answer there.
  package var parting: [StreamTable.Parting] { driver.streams.parting }
  /// The queries in the background that have not ended.
  package var backgroundQueries: [BackgroundQueryJob] { driver.backgroundQueries }

  /// The oldest of the write streams that the client has closed ends, or the backend answers one more batch there before.
  ///
  /// - Returns: false if there is none.
  package func answerParting(ends: Bool, _ answer: (SentBatch) -> Result<WriteResponse, StatusError>) -> Bool {
    !ends && driver.answerParting(answer) || driver.endParting()
  }
}
