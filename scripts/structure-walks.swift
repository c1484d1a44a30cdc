// Reads the walks of docs/architecture.md and compares the names in them with the sources, for scripts/structure.

/// A walk through the sources: a table of numbered steps with the columns "where" and "functions". Each step names places, which are
/// files or types, and functions that they declare.
struct Walk {
  struct Step {
    let line: Int
    let places: [Substring]
    let functions: [Substring]
  }

  let steps: [Step]

  static func walks(in document: Document) -> [Walk] {
    document.tables.filter { $0.header.prefix(3) == ["", "where", "functions"] }.map { table in
      let steps = zip(table.rows, table.rowLines).map { row, line in
        Step(
          line: line, places: Document.names(in: row[1]).map { $0[...] },
          functions: Document.names(in: row[2]).map { $0[...] })
      }
      return Walk(steps: steps)
    }
  }

  /// Checks the names: every place declares one of the functions of its step, and every function is declared at one of the places, by the
  /// type itself if the place is a type.
  func defects(_ index: SourceIndex) -> [String] {
    var defects: [String] = []
    for step in steps {
      func complain(_ what: String) { defects.append("\(step.line): \(what)") }
      if step.places.isEmpty || step.functions.isEmpty { complain("a step without a place or without a function") }
      let declared = step.places.map { Self.functions(at: $0, index) }
      for (place, functions) in zip(step.places, declared) {
        guard let functions else {
          complain("\(place) is not in the sources")
          continue
        }
        if functions.isDisjoint(with: step.functions) {
          complain("\(place) declares none of \(step.functions.joined(separator: ", "))")
        }
      }
      for function in step.functions where !declared.contains(where: { $0?.contains(function) ?? false }) {
        complain("\(function) is not declared in \(step.places.joined(separator: ", "))")
      }
    }
    return defects
  }

  /// The functions that a file, or a type in any of its files, declares; nil if there is no such place.
  private static func functions(at place: Substring, _ index: SourceIndex) -> Set<Substring>? {
    let isFile = place.hasSuffix(".swift")
    guard let files = isFile ? index.filesByName[place] : index.filesOfType[place] else { return nil }
    let functions = files.flatMap(\.declarations).filter { declaration in
      declaration.kind == .function && (isFile || declaration.scope.last == place)
    }
    return Set(functions.map(\.name))
  }
}
