import Foundation
import InteropSupport
import TestSupport
import Testing

private enum CellPython {
  /// True if python3 can ask an emulator that is installed.
  @Sendable static func isUsable() async -> Bool {
    guard Emulator.isInstalled else { return false }
    return await PythonClient.isInstalled()
  }
}

/// The column about Google's emulator in the table of docs/server.md: the cells that say what it lacks.
@Suite(
  "The emulator's column of the table of features", .timeLimit(.minutes(5)),
  .enabled("Google's emulator or google-cloud-firestore for python3 is not installed", CellPython.isUsable),
  Emulator())
struct EmulatorCellTests {
  private struct Row {
    /// The first words of the row.
    var feature: String
    /// The cell about the emulator.
    var cell: String
    /// The emulator's answers that the cell stands for.
    var answers: [String]
  }

  private static let rows = [
    Row(feature: "500 transforms", cell: "no", answers: ["501 transforms: accepted"]),
    Row(
      feature: "`find_nearest`", cell: "yes, no index needed",
      answers: ["find_nearest EUCLIDEAN: [0.0]", "find_nearest COSINE: [0.0]", "find_nearest DOT_PRODUCT: [25.0]"]),
    Row(feature: "`explain_options`", cell: "no", answers: ["explain_options: ignored"]),
    Row(feature: "PartitionQuery", cell: "no", answers: ["PartitionQuery: UNIMPLEMENTED"]),
    Row(
      feature: "reads at a time of the last hour", cell: "yes, and at any earlier time",
      answers: ["a read in the past: 1", "a read before the data: missing"]),
    Row(
      feature: "Listen: `expected_count`", cell: "no", answers: ["a resumed target: 2 documents, 0 filters"]),
    Row(feature: "40,000 index entries", cell: "no", answers: ["40,001 index entries: accepted"]),
    Row(feature: "composite indexes", cell: "not needed", answers: ["a composite index: not needed, 1 found"]),
    Row(
      feature: "gRPC health and reflection", cell: "reflection in the version v1alpha only",
      answers: ["health: UNIMPLEMENTED", "reflection v1: UNIMPLEMENTED", "reflection v1alpha: answered"]),
  ]

  @Test("says of each feature what the emulator answers")
  func cells() async throws {
    let script = try #require(Bundle.module.url(forResource: "emulator_cells", withExtension: "py"))
    let python = try #require(Programs.find("python3"))
    let output = try await Programs.runInBackground(
      python, [script.path, "127.0.0.1:\(Emulator.port)"], environment: ["PYTHONDONTWRITEBYTECODE": "1"])
    #expect(output.status == 0, "\(output.text)")
    let answers = Set(output.text.split(separator: "\n").map(String.init))
    #expect(answers == Set(Self.rows.flatMap(\.answers)))

    let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("docs/server.md")
    let table = try String(contentsOf: page, encoding: .utf8).split(separator: "\n").filter { $0.hasPrefix("| ") }
    for row in Self.rows {
      let line = try #require(table.first { $0.hasPrefix("| \(row.feature)") }, "\(row.feature)")
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      #expect(cells.count > 2 && cells[2] == row.cell, "\(line)")
    }
  }
}
