import HearthModel
import Testing

@testable import HearthData

@Suite("What a terminal shows")
struct OutputTests {
  @Test("no line of a table is wider than the terminal", arguments: 1...90)
  func tableWidth(width: Int) {
    var table = TableLayout(["DOCUMENT", "name", "population", "description"], right: [2])
    table.add(["cities/SF", "San Francisco", "860000", String(repeating: "long ", count: 40)])
    table.add(["cities/LA", "Los Angeles"])
    let lines = table.lines(width: width)
    #expect(lines.count == 3 && lines.allSatisfy { $0.count <= width })
    if width >= 40 { #expect(lines[0].contains("population") && lines[1].contains("860000")) }
  }

  @Test("a table carries nothing that a terminal would obey")
  func safety() throws {
    var table = DocumentTable(database: DatabaseID(projectID: "p"))
    let document = Document.found(
      try DocumentKey(parsing: "a/\u{1B}[31m"), version: SnapshotVersion(microseconds: 1), fields: .empty)
    table.add(document, fields: ["\u{7}bell": "\u{1B}]0;title\u{7}\n\u{202E}", "n": ["a": "\u{9B}"]])
    let text = table.lines(width: 200).joined()
    #expect(!text.unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) || $0.value == 0x202E })
  }

  @Test("rate and time left follow the last seconds")
  func rate() {
    var meter = RateMeter()
    var state = DataProgress.State()
    state.total = 10_000
    #expect(meter.documentsPerSecond == nil && meter.secondsLeft(of: state) == nil)
    for second in 0...60 {
      // First 10 documents in a second, later 100.
      state.documents = second <= 30 ? second * 10 : 300 + (second - 30) * 100
      state.done = state.documents
      meter.add(state, at: .seconds(second))
    }
    #expect(meter.documentsPerSecond == 100)
    #expect(meter.secondsLeft(of: state) == 67)
    let line = ProgressText.line("Importing", state, meter)
    #expect(
      line.contains("33 %") && line.contains("3,300 documents") && line.contains("100/s") && line.contains("67 s"))
  }

  @Test("the summary names what was done, skipped and left out")
  func summary() {
    var state = DataProgress.State()
    (state.documents, state.skipped, state.failed) = (1_234_567, 8, 2)
    let text = ProgressText.summary("Imported", state, earlier: 234_575, seconds: 10)
    #expect(
      text == "Imported 1,234,567 documents, 234,575 of them before, skipped 8, left out 2 in 10.0 s (100,000/s).")
    #expect(ProgressText.grouped(-1_000) == "-1,000" && ProgressText.grouped(999) == "999")
    #expect(
      ProgressText.summary("Deleted", DataProgress.State(), earlier: 0, seconds: .infinity).contains("0 documents"))
  }
}
