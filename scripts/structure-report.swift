// The lines that scripts/structure prints about a module.

/// A line for each arrow from one place, with the first of the types that cross it.
func describe(_ arrows: [String: [String: String]], _ head: (String) -> String) -> [String] {
  arrows.sorted { $0.key < $1.key }.map { place, types in
    let names = types.keys.filter { $0 != importMark }.sorted()
    let shown = names.prefix(4).joined(separator: ", ") + (names.count > 4 ? ", …" : "")
    return "  \(head(place)), \(names.isEmpty ? "imported, no type named" : "\(names.count): \(shown)")"
  }
}

func describe(_ cycle: [String], _ arrows: Arrows, module: String) -> [String] {
  var lines = ["\(module): a cycle between the folders \(cycle.joined(separator: ", "))"]
  for from in cycle {
    for to in cycle {
      guard let types = arrows[from]?[to] else { continue }
      let places = types.sorted { $0.key < $1.key }.map { "\($0.key) (\($0.value))" }
      lines.append("  \(from) -> \(to): \(places.joined(separator: ", "))")
    }
  }
  return lines
}

func describeFiles(of module: Module) -> String {
  let sorted = module.files.sorted { $0.lineCount < $1.lineCount }
  guard let largest = sorted.last else { return "\(module.name): no Swift files" }
  let median = sorted[sorted.count / 2].lineCount
  let lines = sorted.reduce(0) { $0 + $1.lineCount }
  return "\(module.name): \(sorted.count) files, \(lines) lines, median \(median), "
    + "largest \(largest.lineCount) (\(largest.path))"
}

/// Types with more than 40 functions, or more stored properties than the limit.
func describeLargeTypes(of module: Module) -> [String] {
  TypeSize.sizes(in: module).filter { $0.functions > 40 || $0.stored > 16 }.sorted { $0.functions > $1.functions }
    .map { "  large: \($0.name), \($0.functions) functions, \($0.stored) stored properties, \($0.files.count) files" }
}

/// The `package` names of a module that no other module names, and those that only other targets' tests and examples name.
func describePackageNames(of module: Module, others: [Module], tests: [SourceFile]) -> [String] {
  let used = others.filter { $0.name != module.name }.reduce(into: Set<Substring>()) { names, other in
    for file in other.files { names.formUnion(file.words) }
  }
  let tested = tests.reduce(into: Set<Substring>()) { $0.formUnion($1.words) }
  let kinds: Set<Declaration.Kind> = [.type, .alias, .function, .property, .enumCase]
  var all = 0
  var unnamed: [String] = []
  var inTestsOnly = 0
  for file in module.files {
    for declaration in file.declarations where declaration.modifiers.contains("package") {
      guard kinds.contains(declaration.kind), declaration.name.first?.isLetter ?? false else { continue }
      all += 1
      if used.contains(declaration.name) { continue }
      if tested.contains(declaration.name) {
        inTestsOnly += 1
      } else {
        unnamed.append("\(declaration.name) (\(file.path))")
      }
    }
  }
  let head = "  package: \(all) names, \(inTestsOnly) only in tests or examples, \(unnamed.count) in no other target"
  return [head] + unnamed.map { "    \($0)" }
}
