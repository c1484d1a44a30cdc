// The types of a module that some of its folders must not name, for scripts/structure.
import Foundation

/// A rule that a module keeps inside.
struct FolderRule {
  let module: String
  let folders: [String]
  let types: Set<String>

  /// What carries out calls of the server reaches a database through a session.
  static let all = [
    FolderRule(
      module: "HearthServer", folders: ["Service", "Watch"],
      types: ["Databases", "EmbeddedBackend", "EmbeddedStorage", "HostedDatabase", "ServerStorage", "TransactionLocks"]),
    FolderRule(
      module: "HearthServer", folders: ["Service"], types: ["ChangeFeed", "Epochs", "TransactionRegistry"]),
  ]

  /// - Parameter arrows: Those between the folders of the module.
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
