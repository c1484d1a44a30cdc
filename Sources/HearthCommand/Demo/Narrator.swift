import Foundation

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Tells what the demo does as it happens: for people, or as one JSON object per line for machines.
final class Narrator {
  private let json: Bool
  private let isTerminal = isatty(STDOUT_FILENO) == 1
  private(set) var passedChecks = 0
  private(set) var failedChecks = 0

  init(json: Bool) {
    self.json = json
  }

  /// Announces the next chapter.
  func chapter(_ title: String) {
    emit(["type": "chapter", "title": title]) { "\n— \(title)" }
  }

  /// Says one thing that happened.
  func say(_ text: String) {
    emit(["type": "note", "text": text]) { "  \(text)" }
  }

  /// Shows how far a long step has come; on a terminal the bar is drawn in place, elsewhere only the full one is shown.
  func progress(_ label: String, done: Int, total: Int) {
    if !json, !isTerminal, done < total { return }
    let isRedrawn = isTerminal && done < total
    emit(["type": "progress", "label": label, "done": done, "total": total], lineEnd: isRedrawn ? "\r" : "\n") {
      let width = 40
      let filled = total == 0 ? width : done * width / total
      let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
      return "  \(label) \(bar) \(done)/\(total)"
    }
  }

  /// Compares what was found with what had to be there, prints both, and remembers the outcome.
  func check<T: Equatable>(_ what: String, expected: T, found: T) {
    let passed = expected == found
    if passed { passedChecks += 1 } else { failedChecks += 1 }
    emit([
      "type": "check", "what": what, "passed": passed, "expected": "\(expected)", "found": "\(found)",
    ]) {
      passed ? "  ✔ \(what): \(found)" : "  ✘ \(what): expected \(expected), found \(found)"
    }
  }

  /// Ends the story with the number of checks that held and that did not.
  func finish() {
    emit(["type": "result", "passed": passedChecks, "failed": failedChecks]) {
      "\n\(failedChecks == 0 ? "All \(passedChecks) checks held." : "\(failedChecks) of \(passedChecks + failedChecks) checks FAILED.")"
    }
  }

  /// Says where the folder is and how to look into it.
  func kept(_ folder: KeptFolder) {
    emit(["type": "kept", "folder": folder.path, "project": folder.project, "caches": folder.caches]) { folder.inWords }
  }

  private func emit(_ object: [String: Any], lineEnd: String = "\n", text: () -> String) {
    let line: String
    if json {
      let data = try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes])
      line = data.map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    } else {
      line = text()
    }
    Terminal.write(Data((line + (json ? "\n" : lineEnd)).utf8))
  }
}
