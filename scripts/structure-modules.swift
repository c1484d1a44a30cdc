// The modules of the package, the arrows between them and between their folders, and the table of docs/architecture.md that says which
// are allowed, for scripts/structure.
import Foundation

/// A file with what it declares and uses.
struct SourceFile {
  let path: String
  let lineCount: Int
  /// All identifiers.
  let words: Set<Substring>
  let declarations: [Declaration]
  let comments: [PlacedComment]
  let imports: Set<Substring>
  let uses: Set<TypeUse>
  /// Types of this file alone, types within types, and generic parameters: names that hide those of other places.
  let hidden: Set<Substring>
  /// Top-level types that other files can see.
  let types: Set<Substring>

  init(path: String, text: String) {
    self.path = path
    lineCount = text.utf8.reduce(0) { $0 + ($1 == UInt8(ascii: "\n") ? 1 : 0) }
    let tokenizer = Tokenizer(text)
    let reader = DeclarationReader(tokens: tokenizer.tokens, comments: tokenizer.comments)
    words = Set(tokenizer.tokens.map(\.text))
    (declarations, comments) = (reader.declarations, reader.comments)
    (imports, uses) = (reader.imports, reader.uses)
    let types = declarations.filter { $0.kind == .type || $0.kind == .alias }
    let visible = types.filter { $0.scope.isEmpty && !$0.isPrivate && !$0.isLocal }.map(\.name)
    self.types = Set(visible)
    hidden = Set(types.map(\.name)).subtracting(visible).union(reader.genericParameters)
  }

  var name: Substring { path.split(separator: "/").last ?? "" }

  /// The folder below the module; "." for a file next to the folders.
  var folder: Substring {
    let parts = path.split(separator: "/")
    return parts.count > 1 ? parts[0] : "."
  }
}

/// All Swift files below a folder, without generated ones and those of builds.
func swiftFiles(in folder: URL) -> [SourceFile] {
  let enumerator = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
  let prefix = folder.standardizedFileURL.path + "/"
  let paths = (enumerator?.compactMap { ($0 as? URL)?.standardizedFileURL.path } ?? [])
    .filter { $0.hasSuffix(".swift") && !$0.contains("/Generated/") && !$0.contains("/.build/") }.sorted()
  let files = Unchecked([SourceFile?](repeating: nil, count: paths.count))
  files.value.withUnsafeMutableBufferPointer { buffer in
    let buffer = Unchecked(buffer)
    DispatchQueue.concurrentPerform(iterations: paths.count) { index in
      guard let text = try? String(contentsOfFile: paths[index], encoding: .utf8) else { return }
      buffer.value[index] = SourceFile(path: String(paths[index].dropFirst(prefix.count)), text: text)
    }
  }
  return zip(paths, files.value).map { path, file in
    guard let file else { fail("\(path) cannot be read") }
    return file
  }
}

/// Lets threads write to places of an array of their own.
final class Unchecked<Value>: @unchecked Sendable {
  var value: Value
  init(_ value: Value) { self.value = value }
}

/// Stands for an import among the types that cross an arrow.
let importMark = "(import)"

/// Arrows from one place to others: the types that cross, each with a file that names it.
typealias Arrows = [String: [String: [String: String]]]

struct Module {
  let name: String
  let files: [SourceFile]
  /// The modules that it may use.
  let allowed: Set<String>
  /// The folder of each type that other files can see; nil for a name that several folders declare.
  private(set) var folders: [Substring: Substring?] = [:]
  /// The names of the types within each type, by the innermost name around them.
  private var nested: [Substring: Set<Substring>] = [:]

  init(name: String, files: [SourceFile], allowed: Set<String>) {
    (self.name, self.files, self.allowed) = (name, files, allowed)
    for file in files {
      for type in file.types {
        let isNew = folders[type] == nil
        folders.updateValue(isNew ? file.folder : nil, forKey: type)
      }
      for declaration in file.declarations where declaration.kind == .type || declaration.kind == .alias {
        if let around = declaration.scope.last { nested[around, default: []].insert(declaration.name) }
      }
    }
  }

  /// The arrows from this module to others, and those between its folders.
  func arrows(in modules: [Module]) -> (modules: [String: [String: String]], folders: Arrows) {
    let modules = Dictionary(uniqueKeysWithValues: modules.map { (Substring($0.name), $0) })
    var moduleArrows: [String: [String: String]] = [:]
    var folderArrows: Arrows = [:]
    for file in files {
      for used in file.imports where modules[used] != nil {
        moduleArrows[String(used), default: [:]][importMark] = file.path
      }
      for use in file.uses where use.module != nil || !isHidden(use, in: file) {
        if (use.module ?? Substring(name)) == name, let folder = folders[use.name] {
          guard let folder, folder != file.folder else { continue }
          folderArrows[String(file.folder), default: [:]][String(folder), default: [:]][String(use.name)] = file.path
        } else {
          for other in file.imports where use.module == nil || use.module == other {
            guard modules[other]?.folders[use.name] != nil else { continue }
            moduleArrows[String(other), default: [:]][String(use.name)] = file.path
          }
        }
      }
    }
    return (moduleArrows, folderArrows)
  }

  private func isHidden(_ use: TypeUse, in file: SourceFile) -> Bool {
    file.hidden.contains(use.name) || use.scope.contains { nested[$0]?.contains(use.name) ?? false }
  }

  /// The arrows to other modules that are not allowed.
  func forbiddenArrows(_ arrows: [String: [String: String]]) -> [String] {
    arrows.filter { !allowed.contains($0.key) }.sorted { $0.key < $1.key }.map { other, types in
      let places = types.sorted { $0.key < $1.key }.map { "\($0.key) (\($0.value))" }.joined(separator: ", ")
      return "\(name): uses \(other), which docs/architecture.md does not allow: \(places)"
    }
  }
}

/// The groups of places that reach each other, each sorted.
func cycles(in arrows: [String: Set<String>]) -> [[String]] {
  func reachable(from start: String) -> Set<String> {
    var found: Set<String> = []
    var waiting = [start]
    while let place = waiting.popLast() {
      for next in arrows[place] ?? [] where found.insert(next).inserted { waiting.append(next) }
    }
    return found
  }
  let reach = Dictionary(uniqueKeysWithValues: arrows.keys.map { ($0, reachable(from: $0)) })
  let groups = arrows.keys.map { place in
    (reach[place] ?? []).filter { reach[$0]?.contains(place) ?? false }.sorted()
  }
  return Set(groups.filter { $0.count > 1 }).sorted { $0[0] < $1[0] }
}

func cycles(in arrows: Arrows) -> [[String]] { cycles(in: arrows.mapValues { Set($0.keys) }) }

/// The table of modules in section 1 of docs/architecture.md.
struct ModuleTable {
  /// In the order of the table.
  private(set) var rows: [(module: String, allowed: Set<String>)] = []
  private(set) var defects: [String] = []

  /// Compares the table with the folders of the sources.
  init(document: Document, sources: URL) {
    for table in document.tables where table.header.first == "module" && table.header.last == "may use" {
      for row in table.rows where row.count == table.header.count {
        let allowed = row[row.count - 1].split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        rows.append((row[0], Set(allowed).subtracting(["-"])))
      }
    }
    if rows.isEmpty { defects.append("\(document.path): there is no table of modules with a column \"may use\"") }
    let found = (try? FileManager.default.contentsOfDirectory(atPath: sources.path)) ?? []
    let folders = Set(found.filter { !$0.hasPrefix(".") })
    let named = Set(rows.map(\.module))
    for folder in folders.subtracting(named).sorted() {
      defects.append("\(document.path): the table of modules does not have Sources/\(folder)")
    }
    for module in named.subtracting(folders).sorted() {
      defects.append("\(document.path): the table of modules has \(module), which is not below Sources")
    }
    for (module, allowed) in rows {
      for unknown in allowed.subtracting(named).sorted() {
        defects.append("\(document.path): \(module) may use \(unknown), which is no module of the table")
      }
    }
    let arrows = Dictionary(rows.map { ($0.module, $0.allowed) }) { first, _ in first }
    for cycle in cycles(in: arrows) {
      defects.append("\(document.path): these modules may use each other: \(cycle.joined(separator: ", "))")
    }
  }
}
