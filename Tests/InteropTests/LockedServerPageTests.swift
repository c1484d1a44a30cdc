import Foundation
import InteropSupport
import TestSupport
import Testing

@Suite("The page about a locked server")
struct LockedServerPageTests {
  private static let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("docs/locked-server.md")

  /// A block of commands, and the output that the page shows below it.
  private struct Step {
    var commands: String
    var output: String?
  }

  private static func steps() throws -> [Step] {
    var steps: [Step] = []
    var block: (language: Substring, lines: [Substring])?
    for line in try String(contentsOf: page, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false) {
      guard line.hasPrefix("```") else {
        block?.lines.append(line)
        continue
      }
      guard let ended = block else {
        block = (line.dropFirst(3), [])
        continue
      }
      block = nil
      let text = ended.lines.joined(separator: "\n")
      switch ended.language {
      case "sh": steps.append(Step(commands: text))
      case "text": steps[steps.count - 1].output = text
      default: break
      }
    }
    return steps
  }

  @Test(
    "shows commands that work, with what they print",
    .enabled(if: Programs.find("openssl") != nil && Programs.find("bash") != nil, "openssl or bash is not installed"))
  func commands() async throws {
    let steps = try Self.steps()
    #expect(steps.count >= 7 && steps.count { $0.output != nil } >= 4)
    let folder = TemporaryFolder()
    try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
    let hearth = Programs.product("hearth").deletingLastPathComponent().path
    let port = try Programs.freePort()
    let mark = "--- end of the block ---"
    let script = """
      cd '\(folder.url.path)' && PATH='\(hearth)':"$PATH"
      trap 'kill $(jobs -p); wait' EXIT
      exec 2>&1
      \(steps.map { "\($0.commands)\necho; echo '\(mark)'\n" }.joined())
      """.replacing("8443", with: "\(port)")
    let output = try await Programs.runInBackground(try #require(Programs.find("bash")), ["-c", script])
    let outputs = output.text.components(separatedBy: "\n\(mark)\n").map {
      $0.trimmingCharacters(in: .newlines)
    }
    for (step, found) in zip(steps, outputs) {
      #expect(found == step.output ?? "", "\(step.commands)")
    }
    #expect(outputs.count == steps.count + 1, "\(output.text)")
  }
}
