// Prints the structure of the sources as found in the code, for scripts/structure: `structure PACKAGE [--check]`.
//
// For each module (target below Sources): files, median and largest file in lines, the arrows to other modules and between its folders,
// circles between its folders, and the `package` declarations that no other target names. An arrow is a type that is declared in one
// place and named in another; an import counts between modules, too. Comments and strings are left out, code in an interpolation is not;
// folders called Generated are ignored. A folder is one directly below the module, with all that is in it; "." are the files beside them.
//
// It reads tokens, not types: a method that an extension adds in another folder makes no arrow to that folder, and a declaration that
// others use through inference alone is listed as named by no other target.
//
// --check prints only, and fails for, an arrow that docs/architecture.md does not draw, and circles between folders of a checked module.
import Foundation

/// The modules, lowest first, and the modules that each may use: the picture in section 1 of docs/architecture.md.
let allowedArrows: [(module: String, uses: Set<String>)] = [
  ("HearthModel", []),
  ("HearthWire", ["HearthModel"]),
  ("HearthStore", ["HearthModel"]),
  ("HearthCache", ["HearthStore", "HearthWire", "HearthModel"]),
  ("HearthSync", ["HearthCache", "HearthStore", "HearthModel"]),
  ("HearthTransport", ["HearthWire", "HearthModel"]),
  ("Hearth", ["HearthSync", "HearthCache", "HearthStore", "HearthTransport", "HearthModel"]),
  ("HearthServer", ["HearthStore", "HearthWire", "HearthModel"]),
  ("HearthData", ["HearthTransport", "HearthModel"]),
  ("HearthCommand", ["Hearth", "HearthServer", "HearthData", "HearthCache", "HearthStore", "HearthModel"]),
]
let modulesWithoutCircles: Set<String> = ["HearthSync", "HearthCache", "HearthStore", "HearthServer"]

func fail(_ message: String) -> Never {
  FileHandle.standardError.write(Data("structure: \(message)\n".utf8))
  exit(1)
}

// MARK: - Modules

/// Stands for an import among the types that cross an arrow.
let importMark = "(import)"

/// Arrows from one place to others: the types that cross, each with a file that names it.
typealias Arrows = [String: [String: [String: String]]]

struct Module {
  let name: String
  let files: [SourceFile]
  /// The folder of each type that other files can see; nil for a name that several folders declare.
  private(set) var folders: [Substring: Substring?] = [:]
  private(set) var nested: [Substring: Set<Substring>] = [:]

  init(name: String, files: [SourceFile]) {
    self.name = name
    self.files = files
    for file in files {
      for type in file.types {
        let isNew = folders[type] == nil
        folders.updateValue(isNew ? Module.folder(of: file) : nil, forKey: type)
      }
      nested.merge(file.nested) { $0.union($1) }
    }
  }

  static func folder(of file: SourceFile) -> Substring {
    let parts = file.path.split(separator: "/")
    return parts.count > 1 ? parts[0] : "."
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
          let from = Module.folder(of: file)
          guard let folder, folder != from else { continue }
          folderArrows[String(from), default: [:]][String(folder), default: [:]][String(use.name)] = file.path
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

  private func isHidden(_ use: SourceFile.Use, in file: SourceFile) -> Bool {
    file.hidden.contains(use.name) || use.scope.contains { nested[$0]?.contains(use.name) ?? false }
  }
}

/// The groups of places that reach each other, each sorted.
func circles(in arrows: Arrows) -> [[String]] {
  func reachable(from start: String) -> Set<String> {
    var found: Set<String> = []
    var waiting = [start]
    while let place = waiting.popLast() {
      for next in (arrows[place] ?? [:]).keys where found.insert(next).inserted { waiting.append(next) }
    }
    return found
  }
  let reach = Dictionary(uniqueKeysWithValues: arrows.keys.map { ($0, reachable(from: $0)) })
  let groups = arrows.keys.map { place in
    (reach[place] ?? []).filter { reach[$0]?.contains(place) ?? false }.sorted()
  }
  return Set(groups.filter { $0.count > 1 }).sorted { $0[0] < $1[0] }
}

func swiftFiles(in folder: URL) -> [SourceFile] {
  let enumerator = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
  let prefix = folder.standardizedFileURL.path + "/"
  let paths = (enumerator?.compactMap { ($0 as? URL)?.standardizedFileURL.path } ?? [])
    .filter { $0.hasSuffix(".swift") && !$0.contains("/Generated/") && !$0.contains("/.build/") }
  return paths.sorted().map { path in
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { fail("\(path) cannot be read") }
    return SourceFile(path: String(path.dropFirst(prefix.count)), text: text)
  }
}

// MARK: - Printing

/// A line for each arrow from one place, with the first of the types that cross it.
func describe(_ arrows: [String: [String: String]], _ head: (String) -> String) -> [String] {
  arrows.sorted { $0.key < $1.key }.map { place, types in
    let names = types.keys.filter { $0 != importMark }.sorted()
    let shown = names.prefix(4).joined(separator: ", ") + (names.count > 4 ? ", …" : "")
    return "  \(head(place)), \(names.isEmpty ? "imported, no type named" : "\(names.count): \(shown)")"
  }
}

func describe(_ circle: [String], _ arrows: Arrows, module: String) -> [String] {
  var lines = ["\(module): a circle between the folders \(circle.joined(separator: ", "))"]
  for from in circle {
    for to in circle {
      guard let types = arrows[from]?[to] else { continue }
      let places = types.sorted { $0.key < $1.key }.map { "\($0.key) (\($0.value))" }
      lines.append("  \(from) -> \(to): \(places.joined(separator: ", "))")
    }
  }
  return lines
}

func describeFiles(of module: Module) -> String {
  let sorted = module.files.sorted { $0.lineCount < $1.lineCount }
  guard let largest = sorted.last else { return "\(module.name): no files" }
  let median = sorted[sorted.count / 2].lineCount
  let lines = sorted.reduce(0) { $0 + $1.lineCount }
  return "\(module.name): \(sorted.count) files, \(lines) lines, median \(median), "
    + "largest \(largest.lineCount) (\(largest.path))"
}

/// The `package` names of a module that no other module names, and those that only other targets' tests and examples name.
func describePackageNames(of module: Module, others: [Module], tests: [SourceFile]) -> [String] {
  let used = others.filter { $0.name != module.name }.reduce(into: Set<Substring>()) { names, other in
    for file in other.files { names.formUnion(file.names) }
  }
  let tested = tests.reduce(into: Set<Substring>()) { $0.formUnion($1.names) }
  var all = 0
  var unnamed: [String] = []
  var inTestsOnly = 0
  for file in module.files {
    all += file.packageNames.count
    for name in file.packageNames where !used.contains(name) {
      if tested.contains(name) { inTestsOnly += 1 } else { unnamed.append("\(name) (\(file.path))") }
    }
  }
  let head = "  package: \(all) names, \(inTestsOnly) only in tests or examples, \(unnamed.count) in no other target"
  return [head] + unnamed.map { "    \($0)" }
}

@main enum Structure {
  static func main() {
    guard CommandLine.arguments.count > 1 else { fail("usage: structure PACKAGE [--check]") }
    let package = URL(fileURLWithPath: CommandLine.arguments[1], isDirectory: true)
    let isCheck = CommandLine.arguments.contains("--check")
    let modules = allowedArrows.map { arrow in
      Module(name: arrow.module, files: swiftFiles(in: package.appendingPathComponent("Sources/\(arrow.module)")))
    }
    if modules.contains(where: \.files.isEmpty) { fail("a module of docs/architecture.md has no sources") }
    let others = isCheck ? [] : ["Tests", "Examples", "Benchmarks"]
    let tests = others.flatMap { swiftFiles(in: package.appendingPathComponent($0)) }

    var defects: [String] = []
    for (module, allowed) in zip(modules, allowedArrows) {
      let arrows = module.arrows(in: modules)
      let found = circles(in: arrows.folders)
      defects += upwardArrows(of: module, arrows.modules, allowed: allowed.uses)
      if modulesWithoutCircles.contains(module.name) {
        defects += found.flatMap { describe($0, arrows.folders, module: module.name) }
      }
      if isCheck { continue }
      var lines = [describeFiles(of: module)]
      lines += describe(arrows.modules) { "uses \($0)" }
      for (from, targets) in arrows.folders.sorted(by: { $0.key < $1.key }) {
        lines += describe(targets) { "\(from) -> \($0)" }
      }
      lines += found.map { "  circle: \($0.joined(separator: ", "))" }
      lines += describePackageNames(of: module, others: modules, tests: tests)
      print(lines.joined(separator: "\n"), terminator: "\n\n")
    }
    defects.forEach { print($0) }
    guard isCheck else { return }
    if !defects.isEmpty { fail("an arrow up or a circle; see above") }
    let checked = modulesWithoutCircles.sorted().joined(separator: ", ")
    print("structure: no arrow up between modules, no circle between folders of \(checked)")
  }

  private static func upwardArrows(
    of module: Module, _ arrows: [String: [String: String]], allowed: Set<String>
  ) -> [String] {
    arrows.filter { !allowed.contains($0.key) }.sorted { $0.key < $1.key }.map { other, types in
      let places = types.sorted { $0.key < $1.key }.map { "\($0.key) (\($0.value))" }.joined(separator: ", ")
      return "\(module.name): an arrow to \(other), which docs/architecture.md does not draw: \(places)"
    }
  }
}
