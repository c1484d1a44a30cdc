// Lists the public symbols without a documentation comment, for scripts/docs: `undocumented PACKAGE FOLDER…` reads the symbol
// graphs in the folders and looks at what is declared in the package's sources. A comment that a symbol inherits from another
// module, as an override of `NSObject.hash` does, does not count. Fails if there is such a symbol, or no public symbol at all.
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
        let comment = symbol.docComment.flatMap { $0.module == graph.module.name ? $0 : nil }
        if let comment, comment.lines.contains(where: { !$0.text.allSatisfy(\.isWhitespace) }) {
          documented += 1
        } else {
          let path = location.uri.dropFirst(package.count)
          let name = symbol.pathComponents.joined(separator: ".")
          undocumented.insert(
            "\(path):\(location.position.line + 1): \(symbol.kind.displayName) \(name) has no documentation comment")
        }
      }
    }
  } catch {
    fail("\(folder): \(error)")
  }
}
undocumented.sorted().forEach { print($0) }
guard undocumented.isEmpty else { fail("\(undocumented.count) public symbols have no documentation comment") }
guard documented > 0 else { fail("the symbol graphs contain no public symbol of this package") }
print("docs: \(documented) public symbols, each with a documentation comment")
