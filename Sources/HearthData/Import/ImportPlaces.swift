internal import Foundation

/// Finds the export that is meant by a path near it.
enum ImportPlaces {
  /// The folders above a file of an emulator's export in which its metadata may be.
  private static let levels = 4

  /// Refuses a file that is one part of an export in a folder.
  ///
  /// - Throws: A ``DataError`` that names the folder.
  static func checkIsNotPart(_ path: String) throws(DataError) {
    let url = URL(fileURLWithPath: path)
    let folder = url.deletingLastPathComponent()
    if url.lastPathComponent == ExportDestination.planName, (try? ExportPlan(contentsOfFile: path)) != nil {
      throw .file(
        path, "is the plan of an export of `hearth data export`. Give its folder: \(word(folder, near: path)).")
    }
    guard EmulatorExportFiles.isPartName(url.lastPathComponent) else { return }
    var candidate = folder
    for _ in 0..<levels {
      if EmulatorExportFiles.isExport(candidate.path) {
        throw .file(path, "is one file of an emulator's export. Give its folder: \(word(candidate, near: path)).")
      }
      candidate = candidate.deletingLastPathComponent()
    }
  }

  /// The sentence about the folders within one that hold something to import; empty if none does.
  static func advice(in path: String) -> String {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    let folders = names.sorted().map { path.hasSuffix("/") ? path + $0 : path + "/" + $0 }.filter(holdsExport)
    guard !folders.isEmpty else { return "" }
    return " There is an export in \(folders.prefix(8).map(ShellWord.bare).joined(separator: ", ")): give that folder."
  }

  private static func holdsExport(_ folder: String) -> Bool {
    if EmulatorExportFiles.isExport(folder) { return true }
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.contains { $0 == ExportDestination.planName || $0.hasSuffix(".jsonl") || $0.hasSuffix(".ndjson") }
  }

  /// A folder as it is written in a shell: below the present one as the path of the file is.
  private static func word(_ folder: URL, near path: String) -> String {
    let present = FileManager.default.currentDirectoryPath + "/"
    let isRelative = !path.hasPrefix("/") && folder.path.hasPrefix(present)
    return ShellWord.bare(isRelative ? String(folder.path.dropFirst(present.count)) : folder.path)
  }
}
