import ArgumentParser
import Foundation
import HearthData

/// Shows the progress of long work on a terminal, and one line about it at its end.
enum LongRun {
  /// The end of work that is complete, with a status of its own.
  struct EndedWith: Error {
    var status: Int32
  }

  private static let pause = Duration.milliseconds(250)

  /// - Parameters:
  ///   - what: Such as "Importing".
  ///   - done: Such as "Imported".
  ///   - place: Such as "into project demo".
  ///   - body: The work, which reports its progress.
  ///   - whenEmpty: Returns the reason why there may have been no document, from what was done; nil where that needs none.
  static func run<Answer>(
    _ what: String, done: String, _ place: String, _ body: (DataProgress) async throws -> Answer,
    whenEmpty: (DataProgress.State) async -> String
  ) async throws {
    let progress = DataProgress()
    let start = ContinuousClock.now
    let display = Terminal.isErrorTerminal ? Task { await show(what, progress, since: start) } : nil
    func end() async {
      display?.cancel()
      await display?.value
      if display != nil { Terminal.writeError(Data("\r\u{1B}[K".utf8)) }
    }
    do {
      _ = try await body(progress)
      let state = progress.current
      let reason = state.documents == 0 ? await whenEmpty(state) : nil
      await end()
      summarize(done, place, progress, since: start)
      if let reason { Terminal.writeError("hearth data: \(Terminal.safe(reason))") }
    } catch let error as EndedWith {
      await end()
      summarize(done, place, progress, since: start)
      throw ExitCode(error.status)
    } catch {
      await end()
      let saysProgress = (error as? DataError)?.saysProgress == true
      if progress.current.documents > 0, !saysProgress {
        summarize("So far: " + done.lowercased(), place, progress, since: start)
      }
      throw error
    }
  }

  private static func summarize(
    _ what: String, _ place: String, _ progress: DataProgress, since start: ContinuousClock.Instant
  ) {
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    let state = progress.current
    Terminal.writeError(ProgressText.summary(what, state, place, earlier: state.earlier, seconds: seconds))
  }

  private static func show(_ what: String, _ progress: DataProgress, since start: ContinuousClock.Instant) async {
    var meter = RateMeter()
    while !Task.isCancelled {
      let state = progress.current
      meter.add(state, at: ContinuousClock.now - start)
      let line = ProgressText.line(what, state, meter, width: max(10, Terminal.errorWidth - 1))
      Terminal.writeError(Data("\r\u{1B}[K\(line)".utf8))
      try? await Task.sleep(for: pause)
    }
  }
}
