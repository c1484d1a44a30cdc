import Foundation
import Testing

@Suite("docs/architecture.md and docs/glossary.md")
struct ArchitectureTests {
  /// Modules, folders, sizes of types, symbol links, and the files, types and functions that the documents name. The script compiles its
  /// program first if it has changed.
  @Test("the sources are as the documents say", .timeLimit(.minutes(10)))
  func structure() throws {
    let script = Process()
    script.executableURL = Article.root.appendingPathComponent("scripts/structure")
    script.arguments = ["--check"]
    let output = Pipe()
    (script.standardOutput, script.standardError) = (output, output)
    try script.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    script.waitUntilExit()
    #expect(script.terminationStatus == 0, "\(text)")
    #expect(text.contains("walks"))
  }
}
