#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres
  internal import Synchronization

  /// Looks for versions that become visible below one that was seen before, in a database without a name of its own.
  struct OrderCheck: Sendable {
    private let location: ClusterLocation
    private let commits: Int
    private let writers: Int
    /// No Firestore database has a negative number.
    private let database = -Int64.random(in: 1 ... .max)

    struct Found: Sendable {
      var commits = 0
      var reads = 0
      /// The reads of a version below which another one appeared later.
      var late = 0
    }

    init(_ location: ClusterLocation, commits: Int, writers: Int) {
      (self.location, self.commits, self.writers) = (location, commits, writers)
    }

    func run() async throws -> Found {
      let pool = PostgresPool(
        try PostgresConfiguration(url: location.url), label: "hearth check", size: writers + 1)
      let result: Result<Found, any Error>
      do {
        try await prepare(pool)
        result = .success(try await look(pool))
      } catch {
        result = .failure(error)
      }
      // What is left of it disturbs nobody.
      _ = try? await pool.withSession(deadline: ClusterEngine.deadline) { [database] session in
        try session.run([Self.removeCommits.call(.int8(database)), Self.removeDatabase.call(.int8(database))])
      }
      await pool.close()
      return try result.get()
    }

    private func prepare(_ pool: PostgresPool) async throws {
      _ = try await pool.withSession(deadline: ClusterEngine.deadline) { [database] session in
        try session.run([
          Self.insert.call(.int8(database), .bytea(withUnsafeBytes(of: database) { Array($0) })),
          ClusterOrder.append(SnapshotVersion(microseconds: 1), to: database, by: CommitMark(node: 0, number: 0)),
        ])
      }
    }

    private func look(_ pool: PostgresPool) async throws -> Found {
      let reader = Task { () async throws -> Found in
        var found = Found()
        while !Task.isCancelled {
          do { try await read(&found, pool) } catch  where Task.isCancelled { break }
        }
        return found
      }
      defer { reader.cancel() }
      let written = try await withThrowingTaskGroup(of: Void.self) { group in
        for writer in 0..<writers { group.addTask { try await write(by: Int64(writer), pool) } }
        try await group.waitForAll()
        return writers * commits
      }
      reader.cancel()
      var found = try await reader.value
      found.commits = written
      return found
    }

    private func write(by writer: Int64, _ pool: PostgresPool) async throws {
      for number in 1...commits {
        try await pool.withSession(deadline: ClusterEngine.deadline) { [database] session in
          let latest = try ClusterOrder.begin(database, on: session).latest.microseconds
          let next = ClusterOrder.append(
            SnapshotVersion(microseconds: latest + 1), to: database, by: CommitMark(node: writer, number: Int64(number))
          )
          _ = try session.run([next, .commit])
        }
      }
    }

    /// Counts the versions up to the newest one, and counts them again a moment later.
    private func read(_ found: inout Found, _ pool: PostgresPool) async throws {
      let (version, count) = try await pool.withSession(deadline: ClusterEngine.deadline) { [database] session in
        let row = try session.run(Self.count.call(.int8(database), .int8(.max))).only()
        return (try row.int64(0), try row.int64(1))
      }
      try? await Task.sleep(for: .milliseconds(2))
      let later = try await pool.withSession(deadline: ClusterEngine.deadline) { [database] session in
        try session.run(Self.count.call(.int8(database), .int8(version))).only().int64(1)
      }
      found.reads += 1
      if later != count { found.late += 1 }
    }

    private static let insert = PostgresStatement(
      "insert database of check",
      """
      INSERT INTO hearth_databases (number, project, name, incarnation, log_start, index_generation, index_state)
      VALUES ($1, '', $2, '', 0, 0, 0)
      """, [.int8, .bytea])
    private static let count = PostgresStatement(
      "count versions",
      "SELECT max(version), count(*) FROM hearth_commits WHERE database = $1 AND version <= $2", [.int8, .int8])
    private static let removeCommits = PostgresStatement(
      "remove commits of check", "DELETE FROM hearth_commits WHERE database = $1", [.int8])
    private static let removeDatabase = PostgresStatement(
      "remove database of check", "DELETE FROM hearth_databases WHERE number = $1", [.int8])
  }
#endif
