// Counts functions and stored properties of types across their extensions, and compares counts and cycles of folders with the limits and
// the exceptions in scripts/structure-exceptions.txt, for scripts/structure.
import Foundation

/// The size of a type in one module, with what its extensions in this module add.
struct TypeSize {
  /// The module and the path of the type, such as `HearthCache.LocalStore`.
  let name: String
  /// Functions and initializers, static ones as well; those within functions count with these.
  var functions = 0
  /// Stored properties of an instance.
  var stored = 0
  var files: Set<String> = []

  static func sizes(in module: Module) -> [TypeSize] {
    var sizes: [[Substring]: TypeSize] = [:]
    for file in module.files {
      for declaration in file.declarations where !declaration.scope.isEmpty && !declaration.isLocal {
        let name = ([Substring(module.name)] + declaration.scope).joined(separator: ".")
        var size = sizes[declaration.scope] ?? TypeSize(name: name)
        switch declaration.kind {
        case .function, .initializer: size.functions += 1
        case .property where declaration.isStored && !declaration.isStatic: size.stored += 1
        default: continue
        }
        size.files.insert(file.path)
        sizes[declaration.scope] = size
      }
    }
    return sizes.values.sorted { $0.name < $1.name }
  }
}

/// The types and cycles that may exceed a limit. A line names a kind, a subject and its present number. The check fails when the number
/// grows and when it shrinks, so that the list gets shorter with the defects that it excuses.
struct Exceptions {
  static let path = "scripts/structure-exceptions.txt"
  static let limits = ["functions": 90, "stored": 16]

  private var numbers: [String: Int] = [:]
  private var cycles: [String: Set<String>] = [:]
  private var prose: [String] = []
  private(set) var defects: [String] = []
  private var unused: Set<String> = []

  init(below package: URL) {
    guard let text = try? String(contentsOf: package.appendingPathComponent(Self.path), encoding: .utf8) else {
      fail("\(Self.path) cannot be read")
    }
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let words = line.split(separator: " ").map(String.init)
      guard let kind = words.first, !kind.hasPrefix("#") else { continue }
      if Self.limits[kind] != nil, words.count == 3, let number = Int(words[2]) {
        numbers["\(kind) \(words[1])"] = number
        unused.insert("\(kind) \(words[1])")
      } else if kind == "words", words.count == 2 {
        unused.insert("words \(words[1])")
        prose.append(words[1])
      } else if kind == "cycle", words.count > 3 {
        cycles[words[1]] = Set(words.dropFirst(2))
        unused.insert("cycle \(words[1])")
      } else {
        defects.append(
          "\(Self.path):\(index + 1): \"\(line)\" is no \"functions TYPE NUMBER\", \"stored TYPE NUMBER\", \"cycle MODULE FOLDER…\" or \"words PATH\""
        )
      }
    }
  }

  mutating func check(_ kind: String, of type: String, number: Int) {
    let limit = Self.limits[kind] ?? .max
    guard number > limit else { return }
    unused.remove("\(kind) \(type)")
    let what = kind == "stored" ? "stored properties" : kind
    switch numbers["\(kind) \(type)"] {
    case nil: defects.append("\(type) has \(number) \(what), more than the limit of \(limit)")
    case let listed? where number > listed:
      defects.append("\(type) has \(number) \(what), more than the \(listed) that \(Self.path) excuses")
    case let listed? where number < listed:
      defects.append("\(type) has \(number) \(what): \(Self.path) must no longer excuse \(listed)")
    default: break
    }
  }

  /// `description` are the lines that name the arrows of the cycle.
  mutating func check(cycle: [String], of module: String, description: [String]) {
    guard let listed = cycles[module], Set(cycle).isSubset(of: listed) else {
      defects += description
      return
    }
    unused.remove("cycle \(module)")
    let gone = listed.subtracting(cycle).sorted()
    if !gone.isEmpty {
      defects.append(
        "\(module): \(gone.joined(separator: ", ")) left the cycle of folders: \(Self.path) must no longer name them")
    }
  }

  /// Returns true if the phrases of a file, or of the folder that it lies in, are excused.
  mutating func excusesWords(of path: String) -> Bool {
    let listed = prose.filter { path == $0 || path.hasPrefix($0 + "/") }
    unused.subtract(listed.map { "words \($0)" })
    return !listed.isEmpty
  }

  /// To be called when everything was checked.
  mutating func checkUnused() {
    for key in unused.sorted() {
      defects.append("\(Self.path): \"\(key)\" excuses nothing and must go")
    }
  }
}
