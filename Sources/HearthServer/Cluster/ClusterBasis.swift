#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres

  /// The facts that a node knows of a database before a session reads it. A server whose answer is behind that has lost commits, or is not the primary
  /// any more.
  struct ClusterBasis: Sendable {
    let history: ClusterHistory
    /// The number of the database.
    let database: Int64
    let incarnation: [UInt8]
    /// The latest version that the node had seen. Each later snapshot of the same history has it.
    let seen: SnapshotVersion

    /// For ``incarnation(withVersion:)``.
    var seenParameter: PostgresValue { .int8(seen.microseconds) }

    /// The incarnation of database `d` in SQL; null if it lacks a version that the node has seen: then it has another history, although a restored
    /// one has the same incarnation. The log keeps all versions behind its start.
    ///
    /// - Parameters:
    ///   - seen: The parameter of the statement that is ``seen``, or its column.
    static func incarnation(withVersion seen: String) -> String {
      """
      CASE WHEN d.log_start >= \(seen) OR (
        SELECT c.version FROM hearth_commits c WHERE c.database = d.number AND c.version = \(seen) LIMIT 1
      ) IS NOT NULL THEN d.incarnation END
      """
    }

    /// Compares a snapshot that was taken later, and takes note of its version.
    ///
    /// - Parameters:
    ///   - version: The newest version of the snapshot; nil if the database is not there.
    ///   - incarnation: See ``incarnation(withVersion:)``.
    /// - Throws: `connection` if they are not of the history that the node knows. All sessions are opened anew then, so a retry may succeed.
    func check(
      _ version: SnapshotVersion?, _ incarnation: [UInt8]?, on session: PostgresSession
    ) throws(PostgresError) {
      guard let version, version >= seen, incarnation == self.incarnation else {
        history.doubt(session)
        throw PostgresError(.connection, "The database has another history than before.")
      }
      history.note(version, of: database, in: self.incarnation)
    }
  }
#endif
