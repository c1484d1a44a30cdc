import HearthStore

/// Leaves the tables of a cache as an earlier release did, so that a client has to migrate them.
func outdateTables(in folder: String) throws {
  let database = try Database(.file(path: folder + "/cache.sqlite"))
  defer { database.close() }
  try database.execute("ALTER TABLE index_definitions DROP COLUMN latest_use")
  try database.execute("UPDATE schema_versions SET version = 2 WHERE component = 'store'")
}
