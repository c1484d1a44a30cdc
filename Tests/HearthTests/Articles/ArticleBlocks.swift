import Foundation
import Synchronization

/// An article of the DocC catalogue, for tests that hold that what it shows is compiled, runs and prints what it says.
struct Article {
  /// A fenced block.
  struct Block {
    /// The nearest heading above, without its number signs.
    let section: String
    /// The word behind the opening fence.
    let language: String
    /// Without the fences.
    var lines: [String]
  }

  let blocks: [Block]

  /// - Parameter name: The file's name in the catalogue, without `.md`.
  init(_ name: String) throws {
    let text = try Self.text("Sources/Hearth/Hearth.docc/\(name).md")
    var blocks: [Block] = []
    var section = ""
    var open: Block?
    for line in Self.lines(text) {
      if let block = open, line == "```" {
        blocks.append(block)
        open = nil
      } else if open != nil {
        open?.lines.append(line)
      } else if line.hasPrefix("```") {
        open = Block(section: section, language: String(line.dropFirst(3)), lines: [])
      } else if line.hasPrefix("#") {
        section = String(line.drop { $0 == "#" }.drop { $0 == " " })
      }
    }
    self.blocks = blocks
  }

  /// The package's folder.
  static let root: URL = {
    var root = URL(fileURLWithPath: #filePath)
    for _ in 0..<4 { root.deleteLastPathComponent() }
    return root
  }()

  /// A file of the package.
  ///
  /// - Parameter path: From the package's folder.
  static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
  }

  static func lines(_ text: String) -> [String] {
    text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  func blocks(_ language: String) -> [[String]] {
    blocks.filter { $0.language == language }.map(\.lines)
  }

  /// All lines that a section says its programs print.
  func printed(_ section: String) -> [String] {
    blocks.filter { $0.section == section && $0.language == "text" }.flatMap(\.lines)
  }

  /// The Swift blocks that are not, line by line and indented alike, in one of these source files.
  ///
  /// - Parameter files: Absolute paths, as `#filePath` gives them.
  func codeNotCompiled(in files: String...) throws -> [String] {
    let sources = try files.map { Self.lines(try String(contentsOfFile: $0, encoding: .utf8)) }
    return blocks("swift").filter { block in
      !sources.contains { source in source.indices.contains { Self.shows(block, source[$0...]) } }
    }.map { $0.joined(separator: "\n") }
  }

  /// Returns true if the source begins with the block's lines, all moved right by the same number of spaces.
  private static func shows(_ block: [String], _ source: ArraySlice<String>) -> Bool {
    guard let first = block.first, let start = source.first, start.hasSuffix(first) else { return false }
    let indent = start.dropLast(first.count)
    guard indent.allSatisfy({ $0 == " " }), source.count >= block.count else { return false }
    return zip(block, source).allSatisfy { $0 == $1 || indent + $0 == $1 }
  }

  /// The sections with printed text that these source files never name as a string.
  func printedNotChecked(in files: String...) throws -> [String] {
    let sources = try files.map { try String(contentsOfFile: $0, encoding: .utf8) }
    return blocks.filter { $0.language == "text" }.map(\.section).filter { section in
      !sources.contains { $0.contains("\"\(section)\"") }
    }
  }
}

/// Takes the place of `print` in a program of an article, and keeps what it would print.
///
/// ```swift
/// let print = Printout()
/// print("cities:", 3)
/// #expect(print.lines == article.printed("How many cities there are"))
/// ```
final class Printout: Sendable {
  private let recorder = Recorder<Void>()
  private let text = Mutex("")

  func callAsFunction(_ items: Any..., separator: String = " ", terminator: String = "\n") {
    let printed = items.map { "\($0)" }.joined(separator: separator) + terminator
    text.withLock { $0 += printed }
    recorder.record(())
  }

  /// The whole lines so far.
  var lines: [String] { Article.lines(text.withLock { $0 }).dropLast() }

  /// Waits until so many lines are printed.
  func lines(_ count: Int) async throws -> [String] {
    while lines.count < count { try await recorder.next() }
    return lines
  }
}
