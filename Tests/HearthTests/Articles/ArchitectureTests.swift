import Foundation
import Testing

@Suite("docs/architecture.md and docs/glossary.md")
struct ArchitectureTests {
  /// A row of a walk: places (files, or types) and functions that they declare.
  struct Step: CustomTestStringConvertible, Sendable {
    let walk: String
    let number: String
    let places: [String]
    let functions: [String]

    var testDescription: String { "\(walk), \(number)" }
  }

  /// A Swift file below Sources, without the generated ones: its words, and the names that it declares.
  struct Source: Sendable {
    let name: String
    private(set) var words: Set<String> = []
    /// The types that it declares or extends.
    private(set) var types: Set<String> = []
    private(set) var functions: Set<String> = []
    /// Functions, properties and cases; of several cases in one line the first.
    private(set) var members: Set<String> = []

    private static let typeKeywords: Set = ["struct", "class", "enum", "actor", "protocol", "extension"]
    private static let memberKeywords: Set = ["func", "var", "let", "case"]

    init(name: String, text: String) {
      self.name = name
      let bytes = Array(text.utf8)
      var keyword = ""
      var gap = 0
      var start: Int?
      for (index, byte) in (bytes + [0]).enumerated() {
        let isInWord = 97...122 ~= byte || 65...90 ~= byte || 48...57 ~= byte || byte == UInt8(ascii: "_")
        if isInWord {
          start = start ?? index
        } else if let first = start {
          let word = String(decoding: bytes[first..<index], as: UTF8.self)
          let isName = bytes[gap..<first].elementsEqual(" ".utf8) || bytes[gap..<first].elementsEqual(" `".utf8)
          add(word, declaredAs: isName ? keyword : "", followedBy: byte)
          (keyword, gap, start) = (word, index, nil)
        }
      }
    }

    private mutating func add(_ word: String, declaredAs keyword: String, followedBy next: UInt8) {
      words.insert(word)
      // An extension of a nested type declares nothing of the outer one.
      if Self.typeKeywords.contains(keyword), next != UInt8(ascii: ".") { types.insert(word) }
      if keyword == "func", next == UInt8(ascii: "(") || next == UInt8(ascii: "<") { functions.insert(word) }
      if Self.memberKeywords.contains(keyword) { members.insert(word) }
    }
  }

  static let steps: [Step] = {
    guard let text = try? Article.text("docs/architecture.md") else { return [] }
    var section = ""
    var walk = ""
    var steps: [Step] = []
    for line in Article.lines(text) {
      if line.hasPrefix("## ") { section = line }
      if line.hasPrefix("### ") { walk = String(line.dropFirst(4)) }
      guard section.hasSuffix("Step by step"), line.hasPrefix("|") else { continue }
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      guard cells.count == 4, Int(cells[0]) != nil else { continue }
      steps.append(Step(walk: walk, number: cells[0], places: names(in: cells[1]), functions: names(in: cells[2])))
    }
    return steps
  }()

  private static func names(in cell: String) -> [String] {
    cell.split(separator: "`", omittingEmptySubsequences: false).enumerated()
      .filter { !$0.offset.isMultiple(of: 2) }.map { String($0.element) }
  }

  static let sources: [Source] = {
    let folder = Article.root.appendingPathComponent("Sources", isDirectory: true)
    guard let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil) else { return [] }
    return files.compactMap { entry in
      guard let file = entry as? URL, file.pathExtension == "swift", !file.path.contains("/Generated/"),
        let text = try? String(contentsOf: file, encoding: .utf8)
      else { return nil }
      return Source(name: file.lastPathComponent, text: text)
    }
  }()

  @Test("has three walks")
  func walks() {
    let lengths = Dictionary(grouping: Self.steps, by: \.walk).mapValues(\.count)
    #expect(lengths.count == 3)
    #expect(lengths.values.allSatisfy { $0 >= 10 })
  }

  @Test("the files, types and functions of the walks exist", arguments: steps)
  func names(_ step: Step) {
    #expect(!step.places.isEmpty && !step.functions.isEmpty)
    let files = step.places.map { place in
      Self.sources.filter { place.hasSuffix(".swift") ? $0.name == place : $0.types.contains(place) }
    }
    for (place, files) in zip(step.places, files) {
      #expect(!files.isEmpty, "\(place) is not in Sources")
      #expect(
        files.contains { file in step.functions.contains(where: file.functions.contains) },
        "\(place) declares none of \(step.functions)")
    }
    for function in step.functions {
      #expect(
        files.joined().contains { $0.functions.contains(function) }, "\(function) is not declared in \(step.places)")
    }
  }

  /// The files, types and members (`Type.member`) that the other sections name.
  static let places: [String] = {
    guard let text = try? Article.text("docs/architecture.md") else { return [] }
    var section = ""
    var places: Set<String> = []
    for line in Article.lines(text) {
      if line.hasPrefix("## ") { section = line }
      guard ["Other paths", "Concurrency", "Where does a new thing go?"].contains(where: section.hasSuffix) else {
        continue
      }
      places.formUnion(
        names(in: line).filter { $0.wholeMatch(of: /[A-Z][a-z]\w+(\+[A-Z]\w+)?(\.swift|\.[a-z]\w+)?/) != nil })
    }
    return places.sorted()
  }()

  private static let types = sources.reduce(into: Set<String>()) { $0.formUnion($1.types) }
  private static let members = sources.reduce(into: Set<String>()) { $0.formUnion($1.members) }
  private static let testFiles: Set<String> = {
    let folder = Article.root.appendingPathComponent("Tests", isDirectory: true)
    let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL }
    return Set((files ?? []).map(\.lastPathComponent))
  }()

  @Test("the files, types and members that other sections name exist", arguments: places)
  func otherNames(_ place: String) {
    let parts = place.split(separator: ".").map(String.init)
    let isFile = place.hasSuffix(".swift") || place.contains("+")
    let file = "\(parts[0]).swift"
    let hasFile = Self.testFiles.contains(file) || Self.sources.contains { $0.name == file }
    if isFile {
      #expect(hasFile, "there is no file \(file)")
    } else if let member = parts.dropFirst().first {
      #expect(Self.types.contains(parts[0]) && Self.members.contains(member), "\(place) is not in Sources")
    } else {
      #expect(Self.types.contains(place) || hasFile, "\(place) is not in Sources")
    }
  }

  @Test("names that other sections name are found")
  func otherNamesAreFound() {
    #expect(Self.places.count > 40 && Self.places.contains("SyncEngine+Writes.swift"))
  }

  @Test("the identifiers of the glossary exist")
  func glossary() throws {
    let words = Self.sources.reduce(into: Set<String>()) { $0.formUnion($1.words) }
    let rows = Article.lines(try Article.text("docs/glossary.md")).filter { $0.hasPrefix("|") }
    let identifiers = rows.flatMap { row in Self.names(in: String(row.split(separator: "|").last ?? "")) }
    #expect(identifiers.count > 50)
    for identifier in identifiers { #expect(words.contains(identifier), "\(identifier) is not in Sources") }
  }
}
