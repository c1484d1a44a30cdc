internal import Foundation
internal import HearthModel
internal import HearthTransport

/// Finds out what an import reads.
struct ImportOpening {
  private enum Kind {
    case lines
    /// JSON that is not in lines.
    case text
    case emulatorExport
  }

  let files: [ImportFile]
  private let kind: Kind
  private let database: DatabaseID

  /// - Throws: A ``DataError`` for a path at which there is nothing to import.
  init(path: String, database: DatabaseID) throws(DataError) {
    self.database = database
    if path == "-" {
      (files, kind) = ([ImportFile(path: "standard input", byteCount: nil)], .lines)
      return
    }
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
      throw .file(path, "does not exist. Check the path.")
    }
    if !isFolder.boolValue {
      try ImportPlaces.checkIsNotPart(path)
      files = [try Self.file(path)]
      // A pipe can be read once only.
      let type = (try? FileManager.default.attributesOfItem(atPath: path))?[.type] as? FileAttributeType
      if type == .typeRegular, try JSONTextSource.isText(path) { kind = .text } else { kind = .lines }
      return
    }
    let planPath = path + "/" + ExportDestination.planName
    if FileManager.default.fileExists(atPath: planPath) {
      let plan = try ExportPlan(contentsOfFile: planPath)
      guard plan.isComplete else {
        throw .file(path, "holds an export that is not finished. Finish it with `hearth data export \(path) --resume`.")
      }
      var files: [ImportFile] = []
      for index in plan.parts.indices {
        files.append(try Self.file(path + "/" + ExportDestination.name(ofPart: index)))
      }
      (self.files, kind) = (files, .lines)
      return
    }
    if let export = try EmulatorExportFiles(in: path) {
      var files: [ImportFile] = []
      for output in try export.outputs() { files.append(try Self.file(output)) }
      (self.files, kind) = (files, .emulatorExport)
      return
    }
    let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    let lines = names.filter { $0.hasSuffix(".jsonl") || $0.hasSuffix(".ndjson") }.sorted()
    guard !lines.isEmpty else {
      throw .file(
        path,
        "holds nothing to import: no files named *.jsonl, no export of `hearth data export`, no *.overall_export_metadata of an "
          + "emulator, and no firebase-export-metadata.json of `firebase emulators:export`.\(ImportPlaces.advice(in: path))"
      )
    }
    var files: [ImportFile] = []
    for name in lines { files.append(try Self.file(path + "/" + name)) }
    (self.files, kind) = (files, .lines)
  }

  private static func file(_ path: String) throws(DataError) -> ImportFile {
    do {
      let attributes = try FileManager.default.attributesOfItem(atPath: path)
      return ImportFile(path: path, byteCount: (attributes[.size] as? NSNumber)?.intValue ?? 0)
    } catch {
      throw .file(path, "cannot be read: \(FileFailure.reason(error)).")
    }
  }

  func source(from position: ImportPosition) throws(DataError) -> any ImportSource {
    switch kind {
    case .lines: LineSource(files: files, from: position, database: database)
    case .text: try JSONTextSource(file: files[0], from: position, database: database)
    case .emulatorExport: EmulatorExport(files: files, from: position, database: database)
    }
  }
}
