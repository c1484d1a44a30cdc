internal import Foundation
internal import HearthModel

/// One import on its way.
struct ImportRun {
  private struct BatchResult: Sendable {
    var number: Int
    var hashes: Set<Int>
    var end: ImportPosition
    /// Nil if nothing was sent, because something before it was not imported.
    var outcome: BatchSending.Outcome?
    /// True if everything up to the end is done.
    var isDone: Bool
    var error: (any Error)?
  }

  private var source: any ImportSource
  private var state: ImportState
  private let progressPath: String?
  private let sending: BatchSending
  private let continues: Bool
  private let progress: DataProgress
  private let onFailure: @Sendable (String) -> Void

  /// An entry that has no place in the batch before it.
  private var next: ImportEntry?
  private var lastBatch = -1
  /// True for a batch if all before it, and itself, could be read.
  private var latestGate: Task<Bool, Never>?
  private var hashesOnTheirWay: Set<Int> = []
  /// Results that came before those of earlier batches, by number.
  private var results: [Int: BatchResult] = [:]
  private var nextResult = 0
  private var failure: (any Error)?
  private var hasStopped = false
  private var latestSaving = ContinuousClock.now

  /// True if something of the source is done, so that a later run need not begin at its beginning.
  var hasAdvanced: Bool { state.position != ImportPosition() }

  init(
    source: any ImportSource, state: ImportState, progressPath: String?, sending: BatchSending, continues: Bool,
    progress: DataProgress, onFailure: @escaping @Sendable (String) -> Void
  ) {
    self.source = source
    self.state = state
    self.progressPath = progressPath
    self.sending = sending
    self.continues = continues
    self.progress = progress
    self.onFailure = onFailure
  }

  mutating func run(parallelism: Int) async throws {
    let (total, earlier) = (source.total, state)
    let done = source.done(at: state.position)
    progress.change {
      ($0.documents, $0.skipped, $0.failed) = (earlier.documents, earlier.skipped, earlier.failed)
      ($0.earlier, $0.done, $0.total) = (earlier.documents + earlier.skipped, done, total)
    }
    // Shows now that the file can be written, and not after the first million documents.
    try save(isForced: true)
    await withTaskGroup(of: BatchResult.self) { group in
      var running = 0
      while !hasStopped, !Task.isCancelled, let batch = nextBatch() {
        while running > 0, running >= parallelism || !hashesOnTheirWay.isDisjoint(with: batch.hashes) {
          guard let result = await group.next() else { break }
          running -= 1
          take(result)
        }
        if hasStopped { break }
        start(batch, in: &group)
        running += 1
      }
      for await result in group { take(result) }
    }
    try save(isForced: true)
    if let failure { throw advised(failure) }
    // Without an error of its own it has ended at a document.
    if hasStopped { throw stop }
    try Task.checkCancellation()
  }

  // MARK: - Sending

  private mutating func nextBatch() -> ImportBatch? {
    // Behind a fault of the source nothing is read, also if it could be.
    guard failure == nil else { return nil }
    var batch = ImportBatch()
    do throws(DataError) {
      while true {
        if next == nil { next = try source.next() }
        guard let entry = next else { break }
        next = nil
        guard batch.add(entry) else {
          next = entry
          break
        }
      }
    } catch {
      // What was read before is still sent.
      failure = error
      next = nil
      if batch.entries.isEmpty { return nil }
    }
    return batch.entries.isEmpty ? nil : batch
  }

  private mutating func start(_ batch: ImportBatch, in group: inout TaskGroup<BatchResult>) {
    guard let end = batch.end else { return }
    lastBatch += 1
    let (number, sending, continues, database) = (lastBatch, sending, continues, sending.backend.databaseID)
    let precondition = BatchSending.precondition(sending.conflictRule)
    hashesOnTheirWay.formUnion(batch.hashes)
    let former = latestGate
    let parsing = Task.detached {
      ParsedBatch(batch, database: database, precondition: precondition, stopsAtFailure: !continues)
    }
    // Batches are read side by side, and sent only when all before them could be read.
    latestGate = Task {
      let isOpen = await former?.value ?? true
      let parsed = await parsing.value
      return isOpen && (continues || parsed.failures.isEmpty)
    }
    group.addTask {
      var result = BatchResult(number: number, hashes: batch.hashes, end: end, isDone: false)
      guard await former?.value ?? true else { return result }
      let parsed = await parsing.value
      do {
        var outcome = try await sending.send(parsed.writes, isFirst: number == 0)
        outcome.failures = (parsed.failures + outcome.failures).sorted { $0.position.line < $1.position.line }
        result.isDone = continues || outcome.failures.isEmpty
        result.outcome = outcome
      } catch {
        result.error = error
      }
      return result
    }
  }

  // MARK: - Results

  /// The most failures that are named. An import that ends at them names a few.
  private var namedFailures: Int { continues ? 50 : 5 }

  private mutating func take(_ result: BatchResult) {
    hashesOnTheirWay.subtract(result.hashes)
    if let outcome = result.outcome {
      let done = source.done(at: result.end)
      progress.change {
        $0.documents += outcome.written
        $0.skipped += outcome.skipped
        $0.failed += outcome.failures.count
        $0.conflicts += outcome.conflicts
        $0.done = max($0.done, done)
      }
      for (index, failure) in outcome.failures.enumerated() {
        let named = progress.current.failed - outcome.failures.count + index
        if named < namedFailures { onFailure(failure.text(state.files)) }
        if named == namedFailures {
          onFailure("Further documents that were \(continues ? "left out" : "refused") are only counted.")
        }
      }
    }
    if !result.isDone {
      hasStopped = true
      failure = failure ?? result.error
    }
    results[result.number] = result
    advance()
    // A full disk must not end an import that goes well; the end of the import tries again.
    try? save(isForced: false)
  }

  /// An error with the way to go on, if something of the source is done.
  private func advised(_ error: any Error) -> any Error {
    guard hasAdvanced, progressPath != nil, var advised = error as? DataError else { return error }
    advised.description += " Go on with the same command and --resume."
    return advised
  }

  /// The end of an import at a document that is refused.
  private var stop: DataError {
    let state = progress.current
    var error = DataError(
      "The import has stopped there: \(ProgressText.count(state.documents, "document")) "
        + "\(state.documents == 1 ? "was" : "were") written, \(ProgressText.grouped(state.failed)) refused. "
        + (state.conflicts > 0
          ? "--on-conflict overwrite replaces documents that exist, and skip leaves them as they are. " : "")
        + "Correct the source, or leave out such documents with --continue"
        + (hasAdvanced && progressPath != nil ? "; together with --resume, that goes on near there." : "."))
    error.saysProgress = true
    return error
  }

  /// Moves the position behind all batches that are done without one before them that is not.
  private mutating func advance() {
    while let result = results[nextResult], result.isDone, let outcome = result.outcome {
      results[nextResult] = nil
      nextResult += 1
      state.position = result.end
      state.documents += outcome.written
      state.skipped += outcome.skipped
      state.failed += outcome.failures.count
    }
  }

  private static let savingPause = Duration.seconds(1)

  private mutating func save(isForced: Bool) throws(DataError) {
    guard let progressPath, isForced || ContinuousClock.now - latestSaving >= Self.savingPause else { return }
    latestSaving = .now
    try state.write(to: progressPath)
  }
}
