internal import Foundation
internal import HearthTransport

/// Finds the files of an export of Google's Firestore emulator, or of the managed export of Cloud Firestore, by what its metadata names.
///
/// | file | content |
/// |---|---|
/// | `NAME.overall_export_metadata` | a log with two records: a version, and the metadata files, each with the number and the bytes of its documents |
/// | `….export_metadata` | a message: the names of the outputs, which are in the same folder |
/// | `output-0`, `output-1`, … | a log with a document in each record |
///
/// A folder of `firebase emulators:export` has such a folder in it and names it in `firebase-export-metadata.json`.
struct EmulatorExportFiles {
  private static let overallEnding = ".overall_export_metadata"
  private static let metadataEnding = ".export_metadata"
  private static let firebaseName = "firebase-export-metadata.json"

  private let folder: String
  /// The names in `folder` of files with the overall metadata.
  private let overall: [String]

  /// Looks for an export in a folder.
  ///
  /// - Returns: Nil if there is none.
  /// - Throws: For a folder of `firebase emulators:export` without Firestore's part.
  init?(in folder: String) throws(DataError) {
    if let overall = try Self.firestorePart(of: folder) {
      (self.folder, self.overall) = overall
      return
    }
    let names = Self.names(in: folder)
    guard names.contains(where: { $0.hasSuffix(Self.metadataEnding) || $0.hasSuffix(Self.overallEnding) }) else {
      return nil
    }
    self.folder = folder
    overall = names.filter { $0.hasSuffix(Self.overallEnding) }.sorted()
  }

  /// True for the names of the files of an export.
  static func isPartName(_ name: String) -> Bool {
    name == firebaseName || name.hasSuffix(metadataEnding) || name.hasSuffix(overallEnding) || isOutput(name)
  }

  /// True for a folder with the metadata of a whole export.
  static func isExport(_ folder: String) -> Bool {
    names(in: folder).contains { $0 == firebaseName || $0.hasSuffix(overallEnding) }
  }

  private static func names(in folder: String) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
  }

  // MARK: - firebase emulators:export

  private struct FirebaseMetadata: Decodable {
    struct Part: Decodable {
      var path: String?
      var metadataFile: String?

      enum CodingKeys: String, CodingKey {
        case path
        case metadataFile = "metadata_file"
      }
    }
    var firestore: Part?
  }

  private static func firestorePart(of folder: String) throws(DataError) -> (String, [String])? {
    let path = folder + "/" + firebaseName
    guard FileManager.default.fileExists(atPath: path) else { return nil }
    let bytes = try contents(of: path)
    guard let metadata = try? JSONDecoder().decode(FirebaseMetadata.self, from: Data(bytes)) else {
      throw .file(path, "is not the metadata of `firebase emulators:export`: it is not the JSON that is expected.")
    }
    guard let part = metadata.firestore, part.path != nil || part.metadataFile != nil else {
      throw .file(path, "names no export of Firestore: the emulator of Firestore did not run when it was written.")
    }
    guard let file = part.metadataFile else {
      let inner = folder + "/" + (try relative(part.path ?? "", namedIn: path))
      return (inner, names(in: inner).filter { $0.hasSuffix(overallEnding) }.sorted())
    }
    let url = URL(fileURLWithPath: folder + "/" + (try relative(file, namedIn: path)))
    guard FileManager.default.fileExists(atPath: url.path) else {
      throw .file(url.path, "is named in \"\(path)\", but is missing.")
    }
    return (url.deletingLastPathComponent().path, [url.lastPathComponent])
  }

  // MARK: - Outputs

  /// A metadata file, with what the overall metadata says of its documents.
  private struct Metadata {
    var path: String
    /// The file that names it; nil if it was found.
    var namedIn: String?
    var byteCount: Int?
  }

  /// The files with the documents, in order; none for an export of an empty database.
  ///
  /// - Throws: For a file that is named and that is missing, empty, damaged, or shorter than the export has written it.
  func outputs() throws(DataError) -> [String] {
    var metadata: [Metadata] = []
    var isEmptyExport = false
    for name in overall {
      let named = try self.metadata(namedIn: folder + "/" + name)
      if let named { metadata += named }
      isEmptyExport = isEmptyExport || named?.isEmpty == true
    }
    if metadata.isEmpty {
      metadata = find { $0.hasSuffix(Self.metadataEnding) && !$0.hasSuffix(Self.overallEnding) }
        .map { Metadata(path: $0, namedIn: nil, byteCount: nil) }
    }
    guard metadata.isEmpty else {
      var outputs: [String] = []
      for file in metadata { outputs += try self.outputs(of: file) }
      return outputs
    }
    let outputs = find(Self.isOutput)
    guard !outputs.isEmpty || isEmptyExport else {
      throw .file(
        folder, "has the metadata of an emulator's export, but none of its files named output-0, output-1, ….")
    }
    for output in outputs { _ = try Self.byteCount(of: output, namedIn: nil) }
    return outputs
  }

  /// The metadata files that an overall one names; nil if it is empty.
  private func metadata(namedIn path: String) throws(DataError) -> [Metadata]? {
    let bytes = try Self.contents(of: path)
    guard !bytes.isEmpty else { return nil }
    var records = LogRecords(bytes)
    var metadata: [Metadata] = []
    do {
      while let record = try records.next() {
        // The first record is the version of the format, in digits.
        if !record.isEmpty, record.allSatisfy({ (0x30...0x39).contains($0) }) { continue }
        var message = GroupedMessage(record[...])
        while let (field, content) = try message.next() {
          guard field == 1, case .bytes(let entry) = content else { continue }
          if let found = try self.metadata(in: entry, of: path) { metadata.append(found) }
        }
      }
    } catch let error as LogRecords.Failure {
      throw .file(path, "cannot be read at byte \(error.offset): \(error.message).")
    } catch let error as GroupedMessage.Failure {
      throw .file(path, "is not the metadata of an export: \(error.message).")
    } catch {
      throw error as? DataError ?? .file(path, "cannot be read: \(error).")
    }
    return metadata
  }

  private func metadata(in entry: ArraySlice<UInt8>, of path: String) throws -> Metadata? {
    var message = GroupedMessage(entry)
    var (name, byteCount): (String?, Int?) = (nil, nil)
    while let (field, content) = try message.next() {
      switch (field, content) {
      case (2, .bytes(let bytes)): name = String(decoding: bytes, as: UTF8.self)
      case (4, .varint(let count)): byteCount = Int(exactly: count)
      default: break
      }
    }
    guard let name else { return nil }
    return Metadata(
      path: folder + "/" + (try Self.relative(name, namedIn: path)), namedIn: path, byteCount: byteCount)
  }

  /// The outputs that a metadata file names.
  private func outputs(of metadata: Metadata) throws(DataError) -> [String] {
    _ = try Self.byteCount(of: metadata.path, namedIn: metadata.namedIn)
    let bytes = try Self.contents(of: metadata.path)
    let beside = URL(fileURLWithPath: metadata.path).deletingLastPathComponent().path
    var outputs: [String] = []
    do throws(GroupedMessage.Failure) {
      for name in try Self.outputNames(in: bytes) { outputs.append(name) }
    } catch {
      throw .file(metadata.path, "is not the metadata of an export: \(error.message).")
    }
    var total = 0
    for (index, name) in outputs.enumerated() {
      outputs[index] = beside + "/" + (try Self.relative(name, namedIn: metadata.path))
      total += try Self.byteCount(of: outputs[index], namedIn: metadata.path)
    }
    if let written = metadata.byteCount, total < written {
      throw .file(
        metadata.path,
        "names \(outputs.joined(separator: ", ")) with \(total) bytes, and the export has written \(written): it is cut off."
      )
    }
    return outputs
  }

  private static func outputNames(in bytes: [UInt8]) throws(GroupedMessage.Failure) -> [String] {
    var names: [String] = []
    var message = GroupedMessage(bytes[...])
    while let (field, content) = try message.next() {
      guard field == 2, case .bytes(let kind) = content else { continue }
      var inner = GroupedMessage(kind)
      while let (field, content) = try inner.next() {
        if field == 2, case .bytes(let name) = content { names.append(String(decoding: name, as: UTF8.self)) }
      }
    }
    return names
  }

  // MARK: - Files

  private func find(_ isWanted: (String) -> Bool) -> [String] {
    guard let all = FileManager.default.enumerator(atPath: folder) else { return [] }
    var found: [String] = []
    for case let name as String in all where isWanted(name) { found.append(folder + "/" + name) }
    // output-9 before output-10.
    return found.sorted { $0.utf8.count == $1.utf8.count ? $0 < $1 : $0.utf8.count < $1.utf8.count }
  }

  private static func isOutput(_ name: String) -> Bool {
    guard let last = name.split(separator: "/").last, last.hasPrefix("output-") else { return false }
    return !last.dropFirst("output-".count).isEmpty && last.dropFirst("output-".count).allSatisfy(\.isNumber)
  }

  /// A name that leads to a place within the export.
  private static func relative(_ name: String, namedIn path: String) throws(DataError) -> String {
    let parts = name.split(separator: "/", omittingEmptySubsequences: false)
    guard !name.isEmpty, parts.allSatisfy({ !$0.isEmpty && $0 != ".." }) else {
      throw .file(path, "names \"\(name)\", which is not the name of a file within the export.")
    }
    return name
  }

  private static func byteCount(of path: String, namedIn other: String?) throws(DataError) -> Int {
    let naming = other.map { "is named in \"\($0)\", but " } ?? ""
    guard let attributes = try? FileManager.default.attributesOfItem(atPath: path) else {
      throw .file(path, "\(naming)is missing. Export again, or bring the whole folder.")
    }
    guard let count = (attributes[.size] as? NSNumber)?.intValue, count > 0 else {
      throw .file(path, "\(naming)is empty. Export again, or bring the whole folder.")
    }
    return count
  }

  private static func contents(of path: String) throws(DataError) -> [UInt8] {
    do {
      return [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    } catch {
      throw .file(path, "cannot be read: \(FileFailure.reason(error)).")
    }
  }
}
