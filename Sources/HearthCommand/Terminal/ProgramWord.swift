import Foundation
import HearthData

/// The word with which a shell starts this program.
enum ProgramWord {
  static let name = "hearth"

  /// Its name if a shell finds this program by that, and its path otherwise.
  static func shown(
    executable: URL? = Bundle.main.executableURL, searchPath: String? = ProcessInfo.processInfo.environment["PATH"]
  ) -> String {
    guard let executable else { return name }
    func resolved(_ path: String) -> String { URL(fileURLWithPath: path).resolvingSymlinksInPath().path }
    // Shells take the first one.
    let found = (searchPath ?? "").split(separator: ":").lazy.map { "\($0)/\(name)" }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
    return found.map(resolved) == resolved(executable.path) ? name : ShellWord.bare(executable.path)
  }
}
