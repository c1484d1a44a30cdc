// Prints the structure of the sources as found in the code, for scripts/structure: `structure PACKAGE [--check]`.
//
// For each module (target below Sources): files, median and largest file in lines, the arrows to other modules and between its folders,
// cycles between its folders, its large types, and the `package` declarations that no other target names. An arrow is a type that is
// declared in one place and named in another; an import counts between modules, too. Comments and strings are left out, code in an
// interpolation is not; folders called Generated are ignored. A folder is one directly below the module, with all that is in it; "." are
// the files next to them.
//
// It reads tokens, not types: a method that an extension adds in another folder makes no arrow to that folder, and a declaration that
// others use through inference alone is listed as named by no other target.
//
// --check prints only defects, and fails if there are any: arrows between modules that the table of docs/architecture.md does not allow,
// cycles between folders, types that a folder must not name, types above the limits, folders of tests that the sources do not have, names that
// two files of tests share, symbol links in comments that lead nowhere, names in documents that the sources do not have, and
// phrases in comments and documents that scripts/structure-words.swift lists with the words to write instead.
import Foundation

func fail(_ message: String) -> Never {
  FileHandle.standardError.write(Data("structure: \(message)\n".utf8))
  exit(1)
}

@main enum Structure {
  static func main() {
    guard CommandLine.arguments.count > 1 else { fail("usage: structure PACKAGE [--check]") }
    let package = URL(fileURLWithPath: CommandLine.arguments[1], isDirectory: true)
    let architecture = Document(path: "docs/architecture.md", below: package)
    let table = ModuleTable(document: architecture, sources: package.appendingPathComponent("Sources"))
    let modules = table.rows.map { module, allowed in
      Module(name: module, files: swiftFiles(in: package.appendingPathComponent("Sources/\(module)")), allowed: allowed)
    }
    if CommandLine.arguments.contains("--check") {
      check(modules, table: table, architecture: architecture, package: package)
    } else {
      report(modules, package: package)
    }
  }

  // MARK: - Check

  private static func check(_ modules: [Module], table: ModuleTable, architecture: Document, package: URL) {
    var defects = table.defects
    var exceptions = Exceptions(below: package)
    var types = 0
    for module in modules {
      let arrows = module.arrows(in: modules)
      defects += module.forbiddenArrows(arrows.modules)
      defects += FolderRule.defects(of: module, arrows.folders) + InnerFolder.defects(of: module, arrows.folders)
      for cycle in cycles(in: arrows.folders) {
        let description = describe(cycle, arrows.folders, module: module.name)
        exceptions.check(cycle: cycle, of: module.name, description: description)
      }
      for size in TypeSize.sizes(in: module) {
        types += 1
        exceptions.check("functions", of: size.name, number: size.functions)
        exceptions.check("stored", of: size.name, number: size.stored)
      }
    }
    defects += TestFolders.defects(modules, below: package)
    let links = checkLinks(modules)
    let names = checkDocuments(modules, architecture: architecture, package: package)
    let wording = Wording(below: package)
    for defect in wording.defects where !exceptions.excusesWords(of: defect.path) { defects.append(defect.text) }
    exceptions.checkUnused()
    defects += exceptions.defects
    defects += links.defects + names.defects
    if !defects.isEmpty {
      defects.forEach { print($0) }
      fflush(nil)
      fail("defects: \(defects.count)")
    }
    print(
      "structure: \(modules.count) modules and their folders, \(types) types, \(links.count) symbol links, "
        + "\(names.count) names in documents, \(names.steps) steps of walks, \(wording.count) files of prose: as they should be"
    )
  }

  private static func checkLinks(_ modules: [Module]) -> (defects: [String], count: Int) {
    var defects: [String] = []
    var count = 0
    for module in modules {
      let visible = modules.filter { $0.name == module.name || module.allowed.contains($0.name) }
      let symbols = SymbolLinks(modules: visible)
      for file in module.files {
        for comment in file.comments {
          for link in SymbolLinks.links(in: comment.comment.text) {
            count += 1
            if symbols.resolves(link, in: comment) { continue }
            defects.append("Sources/\(module.name)/\(file.path):\(comment.comment.line): ``\(link)`` leads nowhere")
          }
        }
      }
    }
    return (defects, count)
  }

  private static func checkDocuments(
    _ modules: [Module], architecture: Document, package: URL
  ) -> (defects: [String], count: Int, steps: Int) {
    let index = SourceIndex(files: modules.flatMap(\.files))
    let tests = FileManager.default.enumerator(
      at: package.appendingPathComponent("Tests"), includingPropertiesForKeys: nil)
    var others = Set((tests?.compactMap { $0 as? URL } ?? []).map(\.lastPathComponent))
    others.formUnion(modules.map(\.name))
    let examples = package.appendingPathComponent("Examples").path
    others.formUnion((try? FileManager.default.contentsOfDirectory(atPath: examples)) ?? [])
    let names = DocumentNames(index: index, others: others)
    let text = names.defects(
      in: architecture,
      sections: [
        "Modules", "Step by step", "Other paths", "Concurrency", "gRPC, as measured", "Where does a new thing go?",
      ])
    let walks = Walk.walks(in: architecture)
    var steps = walks.flatMap { $0.defects(index) }.map { "\(architecture.path):\($0)" }
    if walks.isEmpty {
      steps.append("\(architecture.path): there is no walk, a table with the columns \"where\" and \"functions\"")
    }
    let glossary = names.glossaryDefects(in: Document(path: "docs/glossary.md", below: package))
    let defects = text.defects + steps + glossary.defects
    return (defects, text.count + glossary.count, walks.reduce(0) { $0 + $1.steps.count })
  }

  // MARK: - Report

  private static func report(_ modules: [Module], package: URL) {
    let tests = ["Tests", "Examples", "Benchmarks"].flatMap { swiftFiles(in: package.appendingPathComponent($0)) }
    for module in modules {
      let arrows = module.arrows(in: modules)
      var lines = [describeFiles(of: module)]
      lines += describe(arrows.modules) { "uses \($0)" }
      for (from, targets) in arrows.folders.sorted(by: { $0.key < $1.key }) {
        lines += describe(targets) { "\(from) -> \($0)" }
      }
      lines += cycles(in: arrows.folders).map { "  cycle: \($0.joined(separator: ", "))" }
      lines += describeLargeTypes(of: module)
      lines += describePackageNames(of: module, others: modules, tests: tests)
      print(lines.joined(separator: "\n"), terminator: "\n\n")
    }
  }
}
