import Foundation
import InteropSupport
import TestSupport
import Testing

@Suite("The README's program")
struct ReadmeTests {
  private static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  @Test("is the example that this package builds")
  func readmeShowsTheExample() throws {
    let readme = try String(contentsOf: Self.root.appendingPathComponent("README.md"), encoding: .utf8)
    let example = try String(
      contentsOf: Self.root.appendingPathComponent("Examples/Notes/Notes.swift"), encoding: .utf8)
    #expect(readme.contains("```swift\n\(example)```"))
  }

  #if os(Linux)
    @Test("works with no backend, and finds its notes and its outbox again")
    func worksOffline() async throws {
      let folder = TemporaryFolder()
      let environment = ["XDG_DATA_HOME": folder.url.path]
      let program = Programs.product("NotesExample")
      let first = try await Programs.runInBackground(program, [], environment: environment)
      #expect(first.status == 0, "\(first.text)")
      #expect(first.text.contains("waiting for the network: 2"), "\(first.text)")
      let second = try await Programs.runInBackground(program, [], environment: environment)
      #expect(second.status == 0, "\(second.text)")
      #expect(second.text.contains("waiting for the network: 4"), "\(second.text)")
      #expect(
        second.text.contains("count\": 2") || second.text.contains("\"count\": 2"),
        "the increments add up: \(second.text)")
    }

    @Test("shows what hearth cache prints")
    func showsTheOutbox() async throws {
      let folder = TemporaryFolder()
      for _ in 0..<2 {
        let run = try await Programs.runInBackground(
          Programs.product("NotesExample"), [], environment: ["XDG_DATA_HOME": folder.url.path])
        #expect(run.status == 0, "\(run.text)")
      }
      let cache = folder.url.appendingPathComponent("hearth/__FIRAPP_DEFAULT/demo-notes/(default)").path
      let outbox = try await Programs.runInBackground(
        Programs.product("hearth"), ["cache", "outbox", cache, "--format", "table"])
      let readme = try String(contentsOf: Self.root.appendingPathComponent("README.md"), encoding: .utf8)
      let shown = readme.split(separator: "\n").drop { !$0.hasPrefix("$ hearth cache outbox") }.dropFirst()
        .prefix { $0 != "```" }
      // All but the times.
      func words(_ line: Substring) -> [Substring] {
        line.split(separator: " ").filter { !$0.contains(":") }
      }
      #expect(outbox.text.split(separator: "\n").map(words) == shown.map(words))
    }
  #endif
}
