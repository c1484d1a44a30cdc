internal import Foundation

/// The folder of a file that is about to be made.
package enum ParentFolder {
  /// - Throws: A ``DataError`` that tells a missing folder from missing permission.
  package static func check(of path: String) throws(DataError) {
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder) else {
      throw .file(path, "cannot be made: there is no folder \"\(folder)\". Make it, or choose another place.")
    }
    guard isFolder.boolValue else {
      throw .file(path, "cannot be made: \"\(folder)\" is not a folder. Choose another place.")
    }
    guard FileManager.default.isWritableFile(atPath: folder) else {
      throw .file(
        path, "cannot be made: the folder \"\(folder)\" cannot be written by this user. Choose another place.")
    }
  }
}
