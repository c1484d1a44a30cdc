import Logging
import Synchronization
import TestSupport
import Testing

@testable import HearthRPC

@Suite("The log of failures that many calls meet")
struct FailureLogTests {
  @Test("equal lines are one in ten seconds, which tells the number of the others; different ones are not held back")
  func pace() {
    let recorder = LogRecorder()
    let seconds = Mutex(0)
    let start = ContinuousClock.now
    let log = FailureLog(recorder.logger) { start + .seconds(seconds.withLock { $0 }) }
    for _ in 0..<80 { log.log("storage failed", ["error": "full", "database": "a"]) }
    log.log("storage failed", ["error": "full", "database": "b"])
    log.log(level: .warning, "something else", [:])
    seconds.withLock { $0 = 11 }
    log.log("storage failed", ["error": "full", "database": "a"])
    #expect(
      recorder.lines == [
        "error storage failed database=a error=full", "error storage failed database=b error=full",
        "warning something else ", "error storage failed database=a error=full not-logged-before=79",
      ])
  }

  @Test("any number of different lines is logged")
  func texts() {
    let recorder = LogRecorder()
    let log = FailureLog(recorder.logger)
    for number in 0..<1_000 { log.log("failed", ["number": "\(number)"]) }
    #expect(recorder.lines.count == 1_000)
  }

  @Test("a text of several lines is one line that can be read, and other control characters stay visible")
  func lines() {
    #expect(
      "\(Logger.MetadataValue.escapedLines("The file has errors:\n3:5: a\n\n4:1: b\u{1b}\n"))"
        == "The file has errors: 3:5: a; 4:1: b\\u{1b}")
    #expect("\(Logger.MetadataValue.escaped("a\nb"))" == "a\\u{a}b")
  }
}
