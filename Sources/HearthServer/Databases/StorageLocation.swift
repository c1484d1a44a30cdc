/// The place of the databases.
package enum StorageLocation: Sendable, Equatable {
  /// In memory: everything is gone when the server stops.
  case memory
  /// One SQLite file for each (project, database) in this folder, which is created when it is missing. One server at a
  /// time may use a folder.
  case folder(path: String)
  #if PostgreSQL
    /// In a PostgreSQL database that several servers share.
    case cluster(ClusterLocation)
  #endif

  package static func folder(_ path: String) -> StorageLocation { .folder(path: path) }
}
