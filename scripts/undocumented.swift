// Lists the public symbols without a documentation comment that begins with a sentence, for scripts/docs: `undocumented PACKAGE
// FOLDER…` reads the symbol graphs in the folders and looks at what is declared in the package's sources. A comment that a symbol
// inherits from another module, as an override of `NSObject.hash` does, does not count, and neither does one of parameters alone.
// Fails if there is such a symbol, or no public symbol at all.
import Foundation

struct SymbolGraph: Decodable {
  struct Module: Decodable { var name: String }
  struct Symbol: Decodable {
    struct Kind: Decodable {
      var identifier: String
      var displayName: String
    }
    struct Identifier: Decodable { var precise: String }
    struct Comment: Decodable {
      struct Line: Decodable { var text: String }
      var module: String?
      var lines: [Line]
    }
    struct Location: Decodable {
      struct Position: Decodable { var line: Int }
      var uri: String
      var position: Position
    }
    var kind: Kind
    var identifier: Identifier
    var pathComponents: [String]
    var accessLevel: String
    var docComment: Comment?
    var location: Location?

    /// Returns true if the comment was written in this module and its first line with text is not an item such as `- Parameter`.
    func isDocumented(in module: Module) -> Bool {
      guard let docComment, docComment.module == module.name else { return false }
      let summary = docComment.lines.lazy.map { $0.text.drop(while: \.isWhitespace) }.first { !$0.isEmpty }
      return summary.map { !$0.hasPrefix("- ") } ?? false
    }
  }
  var module: Module
  var symbols: [Symbol]
}

func fail(_ message: String) -> Never {
  FileHandle.standardError.write(Data("docs: \(message)\n".utf8))
  exit(1)
}

guard CommandLine.arguments.count > 2 else { fail("usage: undocumented PACKAGE FOLDER…") }
let package = URL(fileURLWithPath: CommandLine.arguments[1], isDirectory: true).absoluteString

var documented = 0
var undocumented: Set<String> = []
for folder in CommandLine.arguments.dropFirst(2) {
  do {
    let files = try FileManager.default.contentsOfDirectory(
      at: URL(fileURLWithPath: folder, isDirectory: true), includingPropertiesForKeys: nil)
    for file in files where file.lastPathComponent.hasSuffix(".symbols.json") {
      let graph = try JSONDecoder().decode(SymbolGraph.self, from: Data(contentsOf: file))
      for symbol in graph.symbols {
        guard ["public", "open"].contains(symbol.accessLevel), symbol.kind.identifier != "swift.extension",
          !symbol.identifier.precise.contains("::SYNTHESIZED::"),
          let location = symbol.location, location.uri.hasPrefix(package)
        else { continue }
        if symbol.isDocumented(in: graph.module) {
          documented += 1
        } else {
          let place = "\(location.uri.dropFirst(package.count)):\(location.position.line + 1)"
          let name = symbol.pathComponents.joined(separator: ".")
          undocumented.insert("\(place): \(symbol.kind.displayName) \(name) has no comment that says what it is")
        }
      }
    }
  } catch {
    fail("\(folder): \(error)")
  }
}
undocumented.sorted().forEach { print($0) }
guard undocumented.isEmpty else { fail("\(undocumented.count) public symbols are not documented") }
guard documented > 0 else { fail("the symbol graphs contain no public symbol of this package") }
print("docs: \(documented) public symbols, each with a documentation comment")
