internal import Foundation
internal import HearthCache
internal import HearthSync

/// The background queries of a client. Confined to the loop, except the runs themselves.
struct BackgroundQueries {
  private let queue: DispatchQueue
  private let post: @Sendable (RunningClient.Message) -> Void
  /// Readings that have not ended, or whose end the loop has not handled; also the cancelled ones.
  private var running: [BackgroundQueryID: BackgroundQueryJob] = [:]
  /// Closes the readings that are not queries. An entry stays until the loop has handled the end of its reading.
  private var readings: [RequestID: @Sendable () -> Void] = [:]
  /// The readings among them that were closed because the process is suspended.
  private var interrupted: Set<RequestID> = []
  /// Further readings run on the loop, because each one keeps a connection.
  private static let readingLimit = 4

  /// - Parameter queue: Runs the queries; a concurrent one.
  init(queue: DispatchQueue, post: @escaping @Sendable (RunningClient.Message) -> Void) {
    self.queue = queue
    self.post = post
  }

  mutating func start(_ query: BackgroundQueryJob) {
    running[query.id] = query
    queue.async { [post] in
      let result = query.run { count, body in DispatchQueue.concurrentPerform(iterations: count, execute: body) }
      post(.backgroundQueryEnded(query.id, result))
    }
  }

  var takesReadings: Bool { readings.count < Self.readingLimit }

  /// Runs another kind of reading for a request.
  mutating func start<Answer>(
    _ reading: BackgroundReading<Answer>, for id: RequestID,
    answer: @escaping @Sendable (Result<Answer, any Error>) -> Void
  ) {
    readings[id] = { reading.close() }
    queue.async { [post] in
      let result = Result { try reading.run() }
      let failure: (any Error)? = if case .failure(let error) = result { error } else { nil }
      post(.backgroundReadingEnded(id, failure: failure) { answer(result) })
    }
  }

  /// - Returns: True if the process was suspended while the reading ran. Then its failure says nothing.
  mutating func ended(_ id: RequestID) -> Bool {
    readings[id] = nil
    return interrupted.remove(id) != nil
  }

  func cancel(_ id: BackgroundQueryID) {
    running[id]?.cancel()
  }

  mutating func ended(_ id: BackgroundQueryID) {
    running[id] = nil
  }

  /// Cancels all of them, because the process is suspended; the loop then gets their failures.
  mutating func cancelForSuspension() {
    for query in running.values { query.close() }
    for close in readings.values { close() }
    interrupted.formUnion(readings.keys)
  }

  /// Cancels all of them. No connection to the cache's file is open when this returns; it waits for a few rows at most.
  mutating func closeAll() {
    for query in running.values { query.cancel() }
    for query in running.values { query.close() }
    for close in readings.values { close() }
    (running, readings, interrupted) = ([:], [:], [])
  }
}

extension BackgroundQueryLimits {
  /// One thread of a scan per core, up to four: beyond that, reading memory is the limit.
  static var standard: BackgroundQueryLimits {
    BackgroundQueryLimits(partsPerScan: min(max(ProcessInfo.processInfo.activeProcessorCount, 1), 4))
  }
}

extension DispatchQueue {
  /// The queue of the background queries of all clients. Dispatch starts no more of them at once than there are cores.
  static let backgroundQueries = DispatchQueue(label: "hearth.queries", attributes: .concurrent)
}
