// The folders and names of the tests, for scripts/structure.
import Foundation

/// Tests of a module lie in folders with the names of the folders whose types they test, so that they are found from the sources.
enum TestFolders {
  /// Folders for what concerns a module as a whole, and for what the tests need.
  private static let others: Set = ["Articles", "Behaviour", "Contract", "Differential", "Fixtures", "Support"]

  /// - Returns: Folders that have the name of no folder of the module, nor of one that it may use; and names that two files share.
  static func defects(_ modules: [Module], below package: URL) -> [String] {
    let tests = package.appendingPathComponent("Tests")
    let folders = Dictionary(uniqueKeysWithValues: modules.map { ($0.name, Set($0.files.map { topFolder($0.path) })) })
    var defects: [String] = []
    for module in modules {
      let target = module.name + "Tests"
      let known = others.union(([module.name] + module.allowed).flatMap { folders[$0] ?? [] })
      for folder in subfolders(of: tests.appendingPathComponent(target)) where !known.contains(folder) {
        defects.append("Tests/\(target)/\(folder): \(module.name) has no folder of this name")
      }
    }
    let paths = Dictionary(grouping: regularFiles(below: tests), by: \.lastPathComponent)
    for (name, files) in paths.sorted(by: { $0.key < $1.key }) where files.count > 1 {
      let places = files.map { $0.deletingLastPathComponent().lastPathComponent }.sorted()
      defects.append("Tests: the name \(name) stands in \(places.joined(separator: ", "))")
    }
    return defects
  }

  private static func topFolder(_ path: String) -> String {
    let parts = path.split(separator: "/")
    return parts.count > 1 ? String(parts[0]) : "."
  }

  private static func subfolders(of folder: URL) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return names.filter { name in
      var isFolder: ObjCBool = false
      let path = folder.appendingPathComponent(name).path
      return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
    }.sorted()
  }

  /// Symbolic links, by which one target compiles the files of another, are left out.
  private static func regularFiles(below folder: URL) -> [URL] {
    let all = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: [.isRegularFileKey])
    return (all?.compactMap { $0 as? URL } ?? []).filter { file in
      file.pathExtension == "swift"
        && (try? file.resourceValues(forKeys: [.isRegularFileKey]))?.isRegularFile == true
    }
  }
}
