import HearthStore

enum NewerFile {
  /// Changes a cache file as if a later release had written it.
  static func mark(_ path: String) throws {
    let database = try Database(.file(path: path))
    try database.execute("UPDATE schema_versions SET version = version + 1000")
    try database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
  }
}
