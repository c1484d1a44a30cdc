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
    let lines = table.layout.lines(width: 200)
    #expect(
      !lines.joined().unicodeScalars.contains {
        $0.value < 0x20 || (0x7F...0x9F).contains($0.value) || $0.value == 0x202E || $0.value == 0xFFFD
      })
    // Each is shown as what it is.
    #expect(lines[0].contains(#"\u{7}bell"#) && lines[1].contains(#"a/\u{1b}[31m"#), "\(lines)")
    #expect(lines[1].contains(#""\u001b]0;title\u0007\n\u{202e}""#), "\(lines)")
    #expect(TableLayout.safe("a\nb\tc\rd\u{1B}\u{85}\u{2028}é") == #"a\nb\tc\rd\u{1b}\u{85}\u{2028}é"#)
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
    let text = ProgressText.summary("Imported", state, "into project demo", earlier: 234_575, seconds: 10)
    #expect(
      text
        == "Imported 1,234,567 documents, 234,575 of them before, skipped 8, left out 2 into project demo in 10.0 s (100,000/s)."
    )
    #expect(ProgressText.grouped(-1_000) == "-1,000" && ProgressText.grouped(999) == "999")
    #expect(
      ProgressText.summary("Deleted", DataProgress.State(), "from project demo", earlier: 0, seconds: .infinity)
        .contains("0 documents from project demo"))
  }

  @Test(
    "a character takes the cells that a terminal gives it",
    arguments: [
      ("abc", 3), ("日本語", 6), ("한국", 4), ("e\u{301}a", 2), ("👍", 2), ("👨‍👩‍👧", 2), ("🇩🇪", 2), ("❤️", 2), ("ﾊﾝ", 2), ("Ａ", 2),
      ("", 0), ("a\u{200B}b", 2), ("é", 1), ("→", 1), ("ก็", 1),
    ])
  func cells(text: String, width: Int) {
    #expect(CellWidth.of(text) == width, "\(text)")
  }

  @Test("a text is cut at whole characters, to no more cells than there are", arguments: 0...8)
  func cut(width: Int) {
    for text in ["日本語テキスト", "e\u{301}日e\u{301}日e\u{301}日e\u{301}", "abcdefghijk"] {
      let cut = CellWidth.cut(text, to: width)
      #expect(CellWidth.of(cut) <= width && (width == 0 || cut.hasSuffix("…")), "\(cut)")
    }
    #expect(CellWidth.cut("日本", to: 4) == "日本")
  }

  @Test(
    "columns with wide characters line up, and no line takes more cells than the terminal has", arguments: [20, 40, 80])
  func wideTable(width: Int) throws {
    var table = TableLayout(["DOCUMENT", "name", "n"])
    table.add(["a/1", "日本語テキスト日本語テキスト", "1"])
    table.add(["a/2", "plain", "2"])
    table.add(["a/👍", "e\u{301}", "3"])
    let lines = table.lines(width: width)
    #expect(lines.allSatisfy { CellWidth.of($0) <= width }, "\(lines)")
    let ends = Set(
      try lines.dropFirst().map { line in CellWidth.of(try #require(line.lastIndex(of: " ").map { line[..<$0] })) })
    #expect(ends.count == 1, "\(lines)")
  }

  @Test("a cell tells a text from a number, a boolean and null")
  func cellTypes() {
    let database = DatabaseID(projectID: "p")
    let values: [Value] = ["42", 42, "true", true, "null", .null, "", 3.0]
    #expect(
      values.map { DocumentTable.cell($0, database) }
        == ["\"42\"", "42", "\"true\"", "true", "\"null\"", "null", "\"\"", "3.0"])
  }

  @Test("the progress line fits every terminal from 40 columns on, with the time that is left", arguments: 40...100)
  func progressWidth(width: Int) {
    var (meter, state) = (RateMeter(), DataProgress.State())
    state.total = 1_000_000
    for second in 0...9 {
      (state.documents, state.done) = (second * 43_210, second * 43_210)
      meter.add(state, at: .seconds(second))
    }
    let line = ProgressText.line("Exporting", state, meter, width: width)
    #expect(line.count <= width && line.contains("38 %") && line.hasSuffix("s left"), "\(line)")
    if width >= 80 { #expect(line.contains("[####")) }
  }

  @Test("one document is not several")
  func counts() {
    #expect(ProgressText.count(1, "document") == "1 document" && ProgressText.count(0, "document") == "0 documents")
    #expect(ProgressText.count(2, "index") == "2 indexes" && ProgressText.count(2, "batch") == "2 batches")
    #expect(ProgressText.count(1_000, "entry") == "1,000 entries")
  }
}
