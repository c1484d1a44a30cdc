import Foundation
import TestSupport
import Testing

@Suite("docs/architecture.md and docs/glossary.md")
struct ArchitectureTests {
  /// Modules, folders, sizes of types, symbol links, and the files, types and functions that the documents name. The script compiles its
  /// program first if it has changed.
  @Test("the sources are as the documents say", .timeLimit(.minutes(10)))
  func structure() async throws {
    let script = Article.root.appendingPathComponent("scripts/structure")
    let output = try await Programs.runInBackground(script, ["--check"])
    #expect(output.status == 0, "\(output.text)")
    #expect(output.text.contains("walks"))
  }
}
