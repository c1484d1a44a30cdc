// Reads the tables and the quoted names of a Markdown document, and compares the names with the sources, for scripts/structure.
import Foundation

struct Document {
  struct Table {
    let header: [String]
    fileprivate(set) var rows: [[String]] = []
    fileprivate(set) var rowLines: [Int] = []
  }

  struct Line {
    let number: Int
    let text: String
    /// The heading of the second level above it, without its number.
    let section: String
  }

  let path: String
  private(set) var tables: [Table] = []
  private(set) var lines: [Line] = []

  init(path: String, below package: URL) {
    self.path = path
    guard let text = try? String(contentsOf: package.appendingPathComponent(path), encoding: .utf8) else {
      fail("\(path) cannot be read")
    }
    var section = ""
    var isInTable = false
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      if line.hasPrefix("## ") {
        section = String(line.dropFirst(3).drop { $0.isNumber || $0 == "." || $0 == " " })
      }
      lines.append(Line(number: index + 1, text: String(line), section: section))
      guard line.hasPrefix("|") else {
        isInTable = false
        continue
      }
      let cells = line.dropFirst().split(separator: "|", omittingEmptySubsequences: false).dropLast()
        .map { $0.trimmingCharacters(in: .whitespaces) }
      if !isInTable {
        tables.append(Table(header: cells))
        isInTable = true
      } else if !cells.allSatisfy({ $0.allSatisfy { $0 == "-" || $0 == ":" } }) {
        tables[tables.count - 1].rows.append(cells)
        tables[tables.count - 1].rowLines.append(index + 1)
      }
    }
  }

  /// The names in backquotes.
  static func names(in text: String) -> [String] {
    text.split(separator: "`", omittingEmptySubsequences: false).enumerated()
      .filter { !$0.offset.isMultiple(of: 2) }.map { String($0.element) }
  }
}

/// The declarations of all modules, by name.
struct SourceIndex {
  let files: [SourceFile]
  /// The files that declare or extend a type of this name.
  private(set) var filesOfType: [Substring: [SourceFile]] = [:]
  private(set) var filesByName: [Substring: [SourceFile]] = [:]
  /// The names of the members of the types with a name.
  private(set) var members: [Substring: Set<Substring>] = [:]
  private(set) var words: Set<Substring> = []

  init(files: [SourceFile]) {
    self.files = files
    for file in files {
      filesByName[file.name, default: []].append(file)
      words.formUnion(file.words)
      let types = file.declarations.filter { $0.kind == .type || $0.kind == .extensionOfType }
      for type in Set(types.map(\.name)) { filesOfType[type, default: []].append(file) }
      for declaration in file.declarations {
        if let type = declaration.scope.last { members[type, default: []].insert(declaration.name) }
      }
    }
  }
}

/// Compares the names in docs/architecture.md and docs/glossary.md with the sources.
struct DocumentNames {
  let index: SourceIndex
  /// Names of files of tests, and of folders of targets.
  let others: Set<String>

  /// Files, types and members (`Type.member`) that the text outside the tables of walks names.
  func defects(in document: Document, sections: Set<String>) -> (defects: [String], count: Int) {
    var defects: [String] = []
    var count = 0
    for line in document.lines where sections.contains(line.section) {
      for name in Document.names(in: line.text) {
        guard name.wholeMatch(of: /[A-Z][A-Za-z]\w+(\+[A-Z]\w+)?(\.swift|\.[a-z]\w+)?/) != nil, name.contains(/[a-z]/)
        else {
          continue
        }
        count += 1
        if let defect = defect(of: name) { defects.append("\(document.path):\(line.number): \(defect)") }
      }
    }
    return (defects, count)
  }

  private func defect(of name: String) -> String? {
    let parts = name.split(separator: ".")
    let file = "\(parts[0]).swift"
    let hasFile = others.contains(file) || index.filesByName[Substring(file)] != nil
    if name.hasSuffix(".swift") || name.contains("+") { return hasFile ? nil : "there is no file \(file)" }
    guard parts.count == 2 else {
      return index.filesOfType[parts[0]] != nil || hasFile || others.contains(name) ? nil : "there is no type \(name)"
    }
    guard index.filesOfType[parts[0]] != nil else { return "there is no type \(parts[0]), which \(name) names" }
    return index.members[parts[0]]?.contains(parts[1]) ?? false ? nil : "\(parts[0]) has no member \(parts[1])"
  }

  /// Identifiers in the last column of the tables of a glossary.
  func glossaryDefects(in document: Document) -> (defects: [String], count: Int) {
    var defects: [String] = []
    var count = 0
    for table in document.tables {
      for (row, line) in zip(table.rows, table.rowLines) {
        for name in Document.names(in: row.last ?? "") {
          count += 1
          if !index.words.contains(Substring(name)) {
            defects.append("\(document.path):\(line): \(name) is not in the sources")
          }
        }
      }
    }
    return (defects, count)
  }
}
