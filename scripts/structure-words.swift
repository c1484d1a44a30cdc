// Finds words in comments and documents that are not English, or not the word of the field, for scripts/structure.
import Foundation

/// Phrases that the prose of the package does not use, with the words to write instead.
///
/// Read are comments of Swift files, lines of scripts that begin with "#", and Markdown outside code blocks. Text between backquotes is
/// left out, so that code keeps its names and a document can name a phrase. A phrase is found across the end of a line, not across a
/// punctuation mark.
struct Wording {
  private struct Rule {
    let phrases: [[String]]
    let instead: String

    init(_ phrases: String..., instead: String) {
      self.phrases = phrases.map { $0.split(separator: " ").map(String.init) }
      self.instead = instead
    }
  }

  private static let rules = [
    Rule("of which", "of whom", instead: "\"whose\", or a sentence of its own"),
    Rule(
      "is to be", "are to be", "was to be", "were to be",
      instead: "\"must be\", \"should be\", \"will be\", or the plain verb"),
    Rule("made for", instead: "\"based on\" for a version, \"created for\" for a purpose"),
    Rule("meanwhile", instead: "\"in between\", \"at the same time\", or \"since then\""),
    Rule("the begin", "its begin", "their begin", "this begin", "each begin", instead: "\"start\""),
    Rule("for ever", instead: "\"permanently\", or \"without end\""),
    Rule("in step", "into step", "out of step", instead: "\"in sync\""),
    Rule("once more", instead: "\"again\", \"a second time\", or \"retries\""),
    Rule("beside", instead: "\"next to\", \"in addition to\", \"alongside\", or \"while … runs\""),
    Rule("of late", instead: "\"recently\""),
    Rule("in a circle", "in circles", "a circle of", "every circle", instead: "\"cycle\""),
    Rule(
      "move the log", "moves the log", "moved the log", "moving the log", "log is moved", "log was moved",
      instead: "\"checkpoint\""),
    Rule("somebody", "whoever", instead: "\"caller\", \"listener\", \"process\", \"user\""),
  ]

  /// The words with which neither a summary nor the description of a parameter, a result or an error begins: these begin with a verb or a
  /// noun.
  private static let openings: Set = [
    "what", "whatever", "how", "whether", "whichever", "of", "that", "those", "who", "whose", "whom",
  ]

  /// The folders and files that are read.
  static let roots = [
    "Sources", "Tests", "Examples", "Benchmarks", "Fuzz", "scripts", "docs", "README.md", "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
  ]

  private(set) var defects: [(path: String, text: String)] = []
  /// The number of files that were read.
  private(set) var count = 0

  init(below package: URL) {
    for path in Self.paths(below: package) {
      guard let text = try? String(contentsOf: package.appendingPathComponent(path), encoding: .utf8) else { continue }
      count += 1
      if path.hasSuffix(".swift") {
        checkComments(of: text, path)
      } else if path.hasSuffix(".md") {
        check(Prose.paragraphs(ofMarkdown: text), path)
      } else {
        check(Prose.paragraphs(ofScript: text), path)
      }
    }
  }

  /// Without generated files, builds, fixtures other than documents, and symbolic links, whose files are read in their place.
  private static func paths(below package: URL) -> [String] {
    let keys: Set<URLResourceKey> = [.isRegularFileKey]
    let prefix = package.standardizedFileURL.path + "/"
    return roots.flatMap { root -> [String] in
      let url = package.appendingPathComponent(root)
      if root.hasSuffix(".md") { return [root] }
      let all = FileManager.default.enumerator(at: url, includingPropertiesForKeys: Array(keys))
      let files = (all?.compactMap { $0 as? URL } ?? []).filter { isRead($0, inScripts: root == "scripts") }
      return files.map { String($0.standardizedFileURL.path.dropFirst(prefix.count)) }.sorted()
    }
  }

  private static func isRead(_ file: URL, inScripts: Bool) -> Bool {
    guard (try? file.resourceValues(forKeys: [.isRegularFileKey]))?.isRegularFile == true else { return false }
    if file.path.contains("/Generated/") || file.path.contains("/.build/") { return false }
    // The list of phrases itself.
    if file.lastPathComponent == "structure-words.swift" { return false }
    return ["swift", "md"].contains(file.pathExtension) || inScripts && ["", "sh", "txt"].contains(file.pathExtension)
  }

  private mutating func checkComments(of text: String, _ path: String) {
    let comments = Tokenizer(text).comments
    check(Prose.paragraphs(of: comments), path)
    for (index, comment) in comments.enumerated() where comment.isDocumentation {
      let isSummary =
        index == 0 || !comments[index - 1].isDocumentation || comments[index - 1].line != comment.line - 1
      var text = comment.text.dropFirst(3)
      if !isSummary {
        guard let description = text.prefixMatch(of: /\s*- [\w ]+:\s/) else { continue }
        text = text[description.range.upperBound...]
      }
      guard let first = Prose.words(of: text, line: comment.line).first, Self.openings.contains(first.text) else {
        continue
      }
      let kind = isSummary ? "a summary" : "a description"
      defects.append(
        (path, "\(path):\(comment.line): \(kind) begins with \"\(first.text)\": begin with a verb or a noun"))
    }
  }

  private mutating func check(_ paragraphs: [[Prose.Word]], _ path: String) {
    for words in paragraphs {
      for index in words.indices {
        for rule in Self.rules {
          for phrase in rule.phrases where words[index...].starts(with: phrase, by: { $0.text == $1 }) {
            let next = index + phrase.count
            // "in step 3 of the walk"
            if next < words.count, words[next].text.first?.isNumber ?? false { continue }
            let quoted = phrase.joined(separator: " ")
            defects.append((path, "\(path):\(words[index].line): \"\(quoted)\": write \(rule.instead)"))
          }
        }
      }
    }
  }
}

/// Text that people read, split into lowercase words.
private enum Prose {
  struct Word {
    /// "." for a punctuation mark.
    let text: String
    let line: Int
  }

  /// Comments on successive lines are one paragraph.
  static func paragraphs(of comments: [Comment]) -> [[Word]] {
    paragraphs(of: comments.map { ($0.line, $0.text.drop { $0 == "/" }) })
  }

  static func paragraphs(ofScript text: String) -> [[Word]] {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    return paragraphs(
      of: lines.filter { $0.element.drop { $0 == " " }.hasPrefix("#") }.map { ($0.offset + 1, $0.element) })
  }

  static func paragraphs(ofMarkdown text: String) -> [[Word]] {
    var isCode = false
    var prose: [(Int, Substring)] = []
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      if line.drop(while: { $0 == " " }).hasPrefix("```") {
        isCode.toggle()
      } else if !isCode, !line.isEmpty {
        prose.append((index + 1, line))
      }
    }
    return paragraphs(of: prose)
  }

  private static func paragraphs(of lines: [(line: Int, text: Substring)]) -> [[Word]] {
    var paragraphs: [[Word]] = []
    var last = -1
    for line in lines {
      let words = words(of: line.text, line: line.line)
      if line.line == last + 1, !paragraphs.isEmpty {
        paragraphs[paragraphs.count - 1] += words
      } else {
        paragraphs.append(words)
      }
      last = line.line
    }
    return paragraphs
  }

  /// A hyphen and an apostrophe belong to a word.
  static func words(of text: Substring, line: Int) -> [Word] {
    var words: [Word] = []
    var word = ""
    var isCode = false
    func end() {
      if !word.isEmpty { words.append(Word(text: word.lowercased(), line: line)) }
      word = ""
    }
    for character in text {
      if character == "`" {
        end()
        words.append(Word(text: ".", line: line))
        isCode.toggle()
      } else if isCode {
        continue
      } else if character.isLetter || character.isNumber || character == "-" || character == "'" {
        word.append(character)
      } else {
        end()
        if !character.isWhitespace { words.append(Word(text: ".", line: line)) }
      }
    }
    end()
    return words
  }
}
