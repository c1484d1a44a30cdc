import Foundation
import HearthData

/// A line on standard error that shows how far long work has come; nothing unless that is a terminal.
final class ProgressLine {
  private var isShown = false
  private var latest = ContinuousClock.now - .seconds(1)

  func show(_ text: String, done: Int, total: Int?) {
    let now = ContinuousClock.now
    guard Terminal.isErrorTerminal, now - latest > .milliseconds(100) else { return }
    latest = now
    isShown = true
    var line = text
    if let total, total > 0 {
      let filled = min(20, done * 20 / total)
      line += " [" + String(repeating: "#", count: filled) + String(repeating: "-", count: 20 - filled) + "]"
    }
    if done > 0 { line += " \(ProgressText.grouped(done))" }
    Terminal.writeError(Data("\r\u{1B}[K\(CellWidth.cut(line, to: Terminal.errorWidth - 1))".utf8))
  }

  func end() {
    if isShown { Terminal.writeError(Data("\r\u{1B}[K".utf8)) }
    isShown = false
  }
}
