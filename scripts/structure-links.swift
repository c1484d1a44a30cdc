// Resolves symbol links in comments, such as ``Query/limit(to:)``, against the declarations of the sources, for scripts/structure.

/// The declarations that links in comments of one module can mean: its own, and those of the modules below it.
///
/// A link starts at the type that its comment documents or stands in, then at the types around that, then at the top. A first component
/// may be a module. Members of the types that a type inherits from count as its own. Labels, if a link has them, must be those of the
/// declaration.
struct SymbolLinks {
  private struct Symbol {
    let name: Substring
    let labels: [Substring]?
  }

  /// The labels of the declarations with a path, which its components form with dots.
  private var declared: [String: Set<[Substring]>] = [:]
  private var inherited: [String: Set<Substring>] = [:]
  private let modules: Set<Substring>

  init(modules: [Module]) {
    self.modules = Set(modules.map { Substring($0.name) })
    for module in modules {
      for file in module.files {
        for declaration in file.declarations where !declaration.isLocal {
          var scope = declaration.scope
          if let first = scope.first, self.modules.contains(first) { scope.removeFirst() }
          let path = (scope + [declaration.name]).joined(separator: ".")
          if !declaration.inherited.isEmpty { inherited[path, default: []].formUnion(declaration.inherited) }
          guard declaration.kind != .extensionOfType else { continue }
          declared[path, default: []].insert(declaration.labels ?? [])
        }
      }
    }
  }

  /// The links of a comment, without the backquotes.
  static func links(in text: Substring) -> [Substring] {
    guard text.utf8.contains(UInt8(ascii: "`")) else { return [] }
    return text.matches(of: /``([^`]+)``/).map(\.output.1)
  }

  func resolves(_ link: Substring, in comment: PlacedComment) -> Bool {
    var symbols = link.split(separator: "/").map(Self.symbol)
    guard let first = symbols.first else { return false }
    var places = Self.enclosing(comment.documented ?? comment.scope)
    if modules.contains(first.name), first.labels == nil {
      symbols.removeFirst()
      if symbols.isEmpty { return true }
      places = [[]]
    }
    return places.contains { isDeclared(symbols, in: $0) }
  }

  /// Drops the suffix by which DocC tells symbols apart, such as `-(String)` or `-swift.enum`.
  private static func symbol(_ text: Substring) -> Symbol {
    let hyphen = text.firstIndex(of: "-").flatMap { $0 > text.startIndex ? $0 : nil }
    let text = text[..<(hyphen ?? text.endIndex)]
    guard let open = text.firstIndex(of: "("), text.hasSuffix(")") else { return Symbol(name: text, labels: nil) }
    let labels = text[text.index(after: open)...].dropLast().split(separator: ":")
    return Symbol(name: text[..<open], labels: labels)
  }

  private static func enclosing(_ path: [Substring]) -> [[Substring]] {
    (0...path.count).reversed().map { Array(path.prefix($0)) }
  }

  private func isDeclared(_ symbols: [Symbol], in place: [Substring]) -> Bool {
    var place = place
    for symbol in symbols.dropLast() {
      guard let next = member(symbol, of: place) else { return false }
      place = next
    }
    return member(symbols[symbols.count - 1], of: place) != nil
  }

  /// The path of a member of the type with a path, or of a type that it inherits from.
  private func member(_ symbol: Symbol, of type: [Substring], seen: Set<String> = []) -> [Substring]? {
    let typePath = type.joined(separator: ".")
    let path = type + [symbol.name]
    if let found = declared[path.joined(separator: ".")], symbol.labels.map(found.contains) ?? true { return path }
    for parent in inherited[typePath] ?? [] where !seen.contains(String(parent)) {
      for place in Self.enclosing(Array(type.dropLast())) {
        if let found = member(symbol, of: place + [parent], seen: seen.union([String(parent), typePath])) {
          return found
        }
      }
    }
    return nil
  }
}
