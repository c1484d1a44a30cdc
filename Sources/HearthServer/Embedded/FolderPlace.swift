internal import HearthModel
internal import HearthRPC
internal import HearthStore
internal import Logging

/// The place of the data folder: the path at which its locked file is found.
///
/// The server keeps its files open, so it would go on writing into a folder that was moved away, and new databases and a server that is started
/// again would use the folder that has come in its place. Commits are therefore refused, and nothing is opened, while the file at the path is
/// another one or none. Reads of databases that are open go on.
final class FolderPlace: Sendable {
  let availability = Availability()
  private let folder: String
  private let lockFile: String
  private let identity: FileIdentity?
  private let logger: Logger

  /// - Parameter lockFile: The path of a file in the folder that is locked by this server, and that no other program replaces.
  init(folder: String, lockFile: String, logger: Logger) {
    self.folder = folder
    self.lockFile = lockFile
    self.logger = logger
    identity = FileIdentity(path: lockFile)
  }

  /// Asks the file system, and logs a change.
  @discardableResult
  func look() -> Bool {
    let present = FileIdentity(path: lockFile)
    let isThere = present != nil && present == identity
    guard availability.set(isThere) else { return isThere }
    let metadata: Logger.Metadata = ["folder": .escaped(folder)]
    if isThere {
      logger.notice("the data folder is in its place again; commits are taken", metadata: metadata)
    } else {
      logger.error(
        """
        the data folder or its hearth.lock was moved, removed or replaced while the server runs; no commits are taken until it is back. \
        To use another folder there, stop the server first
        """, metadata: metadata)
    }
    return isThere
  }

  /// - Throws: UNAVAILABLE while the folder is not in its place, so that clients keep their writes.
  func require() throws(StatusError) {
    guard look() else {
      throw StatusError(
        code: .unavailable,
        message:
          "The server's data folder was moved or replaced while the server runs, so it takes no commits. "
          + "Put the folder back, or restart the server to use the one that is there now.")
    }
  }
}
