#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres

  /// Finds out if a group of commits is stored whose COMMIT was not answered.
  struct CommitInquiry: Sendable {
    let outcome: GroupCommit.Outcome
    let mark: CommitMark
    let location: ClusterLocation
    /// The mark of the version that this appends.
    let ownMark: CommitMark

    init(outcome: GroupCommit.Outcome, mark: CommitMark, by ownMark: CommitMark, on location: ClusterLocation) {
      (self.outcome, self.mark, self.ownMark, self.location) = (outcome, mark, ownMark, location)
    }

    /// - Parameter database: The database whose lock the group has taken. Once the inquiry holds that lock, the session of the
    ///   group has ended.
    /// - Returns: True if the group is stored as durably as any commit: a version is appended after it, whose commit waits for a synchronous
    ///   standby even if that of the group was given up.
    func run(locking database: Int64, on session: PostgresSession) throws -> Bool {
      let number = outcome.database.number
      let locks = ClusterOrder.calls(database) + (number == database ? [] : ClusterOrder.calls(number))
      let results = try session.run(
        [.begin] + locks + [
          Self.find.call(.int8(number), .int8(outcome.after.microseconds), .int8(mark.node), .int8(mark.number))
        ])
      guard results.last?.isEmpty == false else {
        _ = try session.run(.rollback)
        return false
      }
      let order = try ClusterOrder.state(results.dropFirst())
      _ = try session.run(
        [Self.appendNext.call(.int8(number), .int8(ownMark.node), .int8(ownMark.number))] + order.commit(on: location))
      return true
    }

    private static let find = PostgresStatement(
      "find commit",
      "SELECT 1 FROM hearth_commits WHERE database = $1 AND version = $2 AND node = $3 AND mark = $4",
      [.int8, .int8, .int8, .int8])

    private static let appendNext = PostgresStatement(
      "append version",
      """
      INSERT INTO hearth_commits (database, version, node, mark, bytes)
      SELECT $1, c.version + 1, $2, $3, 0 FROM hearth_commits c WHERE c.database = $1 ORDER BY c.version DESC LIMIT 1
      """, [.int8, .int8, .int8])
  }
#endif
