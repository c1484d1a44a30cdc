import Foundation
import Testing

@Suite("examples in documentation comments")
struct CommentExampleTests {
  @Test("each example of a comment is compiled, line by line, in Samples/CommentExamples.swift or ServerExamples.swift")
  func areCompiled() throws {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    #expect(try count(of: "Hearth", in: folder.appendingPathComponent("Samples/CommentExamples.swift")) > 30)
    #expect(try count(of: "HearthServer", in: folder.appendingPathComponent("ServerExamples.swift")) > 0)
  }

  /// The number of examples in the comments of a library. Each is expected in the file of code that is compiled.
  private func count(of library: String, in file: URL) throws -> Int {
    let compiled = try lines(of: file)
    let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("Sources/\(library)", isDirectory: true)
    let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
    var count = 0
    for case let file as URL in files where file.pathExtension == "swift" {
      for example in examples(in: try lines(of: file)) {
        count += 1
        #expect(
          compiled.indices.contains { shows(example, compiled[$0...]) },
          "\(file.lastPathComponent): \(example.joined(separator: "\n"))")
      }
    }
    return count
  }

  /// The blocks that a file's comments mark as Swift, without what makes them comments.
  private func examples(in lines: [String]) -> [[String]] {
    var examples: [[String]] = []
    var open: [String]?
    for line in lines {
      let text = line.drop { $0 == " " }
      guard text.hasPrefix("///") else { continue }
      let comment = String(text.dropFirst(text.hasPrefix("/// ") ? 4 : 3))
      if let example = open, comment == "```" {
        examples.append(example)
        open = nil
      } else if open != nil {
        open?.append(comment)
      } else if comment == "```swift" {
        open = []
      }
    }
    return examples
  }

  /// Returns true if the source begins with the example's lines, all moved right by the same number of spaces.
  private func shows(_ example: [String], _ source: ArraySlice<String>) -> Bool {
    guard let first = example.first, let start = source.first, start.hasSuffix(first) else { return false }
    let indent = start.dropLast(first.count)
    guard indent.allSatisfy({ $0 == " " }), source.count >= example.count else { return false }
    return zip(example, source).allSatisfy { $1 == ($0.isEmpty ? "" : indent + $0) }
  }

  private func lines(of file: URL) throws -> [String] {
    let text = try String(contentsOf: file, encoding: .utf8)
    return text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }
}
