// The types of a module that some of its folders must not name, for scripts/structure.
import Foundation

/// A rule that a module keeps inside.
struct FolderRule {
  let module: String
  let folders: [String]
  let types: Set<String>

  /// Code that carries out calls of the server reaches a database through a session.
  static let all = [
    FolderRule(
      module: "HearthServer", folders: ["Service", "Watch"],
      types: [
        "ChangeSource", "Databases", "HostedDatabase", "ServerStorage", "TransactionLocks", "TransactionRegistry",
        "Transactions",
      ]),
    FolderRule(module: "HearthServer", folders: ["Service"], types: ["ChangeFeed", "Epochs"]),
  ]

  /// - Parameter arrows: The arrows between the folders of the module.
  static func defects(of module: Module, _ arrows: Arrows) -> [String] {
    all.filter { $0.module == module.name }.flatMap { rule in
      let missing = rule.types.sorted().filter { module.folders[Substring($0)] == nil }
      let uses = rule.folders.flatMap { folder in
        let named = (arrows[folder] ?? [:]).values.flatMap { $0 }.filter { rule.types.contains($0.key) }
        return named.sorted { $0.key < $1.key }.map { "\(module.name): \(folder) names \($0.key) (\($0.value))" }
      }
      return missing.map { "\(module.name): there is no type \($0), which a folder must not name" } + uses
    }
  }
}

/// A folder that nothing else in its module names a type of: what it has is reached through protocols of other folders.
struct InnerFolder {
  let module: String
  let folder: String

  static let all = [InnerFolder(module: "HearthServer", folder: "Embedded")]

  /// - Parameter arrows: The arrows between the folders of the module.
  static func defects(of module: Module, _ arrows: Arrows) -> [String] {
    all.filter { $0.module == module.name }.flatMap { rule in
      arrows.sorted { $0.key < $1.key }.flatMap { folder, named in
        (named[rule.folder] ?? [:]).sorted { $0.key < $1.key }.map { type, path in
          "\(module.name): \(folder) names \(type) of \(rule.folder) (\(path))"
        }
      }
    }
  }
}
