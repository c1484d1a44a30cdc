internal import Foundation
internal import HearthModel
internal import HearthTransport

/// Writes the documents of JSON lines, or of an emulator's export, to a backend.
///
/// Documents are set by their keys, so the same import may run again at any time. Several requests are on their way at once; one with a
/// document that another one still holds waits for that.
package struct DataImport: Sendable {
  package enum ConflictRule: String, Sendable, CaseIterable {
    case overwrite, skip, fail
  }

  /// A file, a folder, or `-` for standard input.
  package var path: String
  package var conflictRule = ConflictRule.overwrite
  package var resumes = false
  /// True to leave out documents that cannot be read or are refused, and to go on.
  package var continues = false
  /// Requests that are on their way at the same time.
  package var parallelism = 8
  /// True for a server of this machine or an emulator.
  package var prefersCommits = true
  /// Nil for one next to the source.
  package var progressFile: String?
  /// Called with the place and the reason of each document that was left out.
  package var onFailure: @Sendable (String) -> Void = { _ in }

  package init(path: String) { self.path = path }

  private var isStandardInput: Bool { path == "-" }

  private var progressPath: String? {
    if let progressFile { return progressFile }
    if isStandardInput { return nil }
    return String(path.reversed().drop { $0 == "/" }.reversed()) + ".import"
  }

  /// - Throws: A ``DataError``, or `CancellationError`. The progress stays, for ``resumes``, if there is any.
  package func run(_ backend: DataBackend, progress: DataProgress) async throws {
    guard !(resumes && isStandardInput) else {
      throw DataError("--resume needs a file: standard input cannot be read from its middle.")
    }
    let opening = try ImportOpening(path: path, database: backend.databaseID)
    var state = ImportState(databaseID: backend.databaseID, files: opening.files)
    let hasBegun = resumes && progressPath.map { FileManager.default.fileExists(atPath: $0) } ?? false
    if hasBegun, let progressPath {
      state = try ImportState(
        contentsOfFile: progressPath, databaseID: backend.databaseID, files: opening.files)
    }
    let sending = BatchSending(
      backend: backend, conflictRule: conflictRule, prefersCommits: prefersCommits, mayHaveBegun: hasBegun)
    var run = ImportRun(
      source: try opening.source(from: state.position), state: state, progressPath: progressPath, sending: sending,
      continues: continues, progress: progress, onFailure: onFailure)
    do {
      try await run.run(parallelism: parallelism)
    } catch {
      // A progress that says nothing would only be left over.
      if let progressPath, !run.hasAdvanced { FileWriting.remove(progressPath) }
      throw error
    }
    if let progressPath { FileWriting.remove(progressPath) }
  }
}
