internal import Foundation
internal import HearthRPC
internal import Logging

/// A file whose content must stay a secret.
struct SecretFile {
  let path: String

  private static let permissionsOfOthers = 0o006

  /// True if every user of this machine may read or write the file. False if its permissions are not known.
  var isOpenToAll: Bool {
    let permissions = try? FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
    return (permissions?.intValue ?? 0) & Self.permissionsOfOthers != 0
  }

  func warnIfOpenToAll(_ logger: Logger) {
    guard isOpenToAll else { return }
    logger.warning(
      "every user of this machine may read or write a file with a secret: use chmod o-rw",
      metadata: ["file": .escaped(path)])
  }
}
