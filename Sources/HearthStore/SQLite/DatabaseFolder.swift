internal import Foundation

/// The folder of a database file.
package enum DatabaseFolder {
  /// Creates the folder and those above it where they are missing.
  ///
  /// - Parameters:
  ///   - path: The folder's path.
  ///   - permissions: The permission bits of new folders; nil leaves them to the process's mask.
  /// - Throws: `StoreError` of the kind `cannotOpen` whose message is the reason alone, such as
  ///   `"/data/file" is a file, not a folder`; the caller says what the folder was for and what to do.
  package static func create(_ path: String, permissions: Int? = nil) throws(StoreError) {
    do {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: true,
        attributes: permissions.map { [.posixPermissions: $0] })
    } catch {
      let reason = obstacle(on: path) ?? error.localizedDescription
      throw StoreError(kind: .cannotOpen, message: reason.hasSuffix(".") ? String(reason.dropLast()) : reason)
    }
  }

  /// The obstacle, as far as the nearest existing part of the path shows it. Foundation's own text for a
  /// folder below a file is a bare error number on Linux.
  private static func obstacle(on path: String) -> String? {
    var place = URL(fileURLWithPath: path).standardizedFileURL
    while place.path != "/" {
      var isFolder: ObjCBool = false
      if FileManager.default.fileExists(atPath: place.path, isDirectory: &isFolder) {
        guard isFolder.boolValue else { return "\"\(place.path)\" is a file, not a folder" }
        return FileManager.default.isWritableFile(atPath: place.path) ? nil : "\"\(place.path)\" cannot be written"
      }
      place.deleteLastPathComponent()
    }
    return nil
  }
}
