internal import HearthStore

/// Finds out whether the database of a cache has changed since this was made, by this process or by another one.
///
/// A transaction that was rolled back is not a change. In doubt, the database counts as changed.
struct ChangeCheck {
  private let path: String
  private let main: FileIdentity
  /// A connection that writes nothing, and so notices every commit.
  private let observer: Database
  private let version: Int64

  /// Nil if there is no database, if it cannot be read, or if it or its log is known to be damaged: then nothing must touch its log.
  init?(_ files: CacheFiles) {
    // An inspection holds locks for moments.
    var options = Database.Options(busyTimeout: .milliseconds(100))
    options.mustExist = true
    guard files.knownDamage == nil, let main = FileIdentity(path: files.main),
      let observer = try? Database(.file(path: files.main), options: options)
    else { return nil }
    guard let version = try? observer.dataVersion else {
      observer.close()
      return nil
    }
    path = files.main
    self.main = main
    self.observer = observer
    self.version = version
  }

  var isUnchanged: Bool { main == FileIdentity(path: path) && (try? observer.dataVersion) == version }

  func close() {
    // SQLite would remove the log of the file that is in its place, by its name.
    if main != FileIdentity(path: path) { observer.keepLogAtClose() }
    observer.close()
  }
}
