#if PostgreSQL
  internal import HearthModel
  internal import HearthPlan
  internal import HearthPostgres

  /// The indexes of a node's index file, and when it has read them.
  ///
  /// In each database those of the file count that was read last, whichever node opens the database afterwards. So nodes with different files do
  /// not drop each other's indexes in turns.
  struct ClusterIndexFile: Sendable, Equatable {
    var definitions: [IndexDefinition]
    /// The time of the PostgreSQL server, in microseconds since 1970.
    var readTime: Int64

    /// A row of `hearth_index_files`: the file whose indexes a database has declared.
    struct Declared: Sendable, Equatable {
      var readTime: Int64
      var node: Int64
      var nodeName: String
    }

    /// The outcome of a declaration.
    enum Outcome: Sendable, Equatable {
      /// The database has these indexes already.
      case same
      case changed
      /// The indexes of another node's file, which was read earlier, were replaced.
      case replaced(Declared)
      /// The indexes of another node's file stay, which was read later.
      case outdated(Declared)
    }
  }

  extension ClusterIndexFilling {
    /// Makes the indexes of a file the declared ones, unless a file that was read later has declared others.
    func declare(
      _ file: ClusterIndexFile, by nodeName: String, on session: PostgresSession
    ) throws -> ClusterIndexFile.Outcome {
      let mine = ClusterIndexFile.Declared(readTime: file.readTime, node: node, nodeName: nodeName)
      var outcome = ClusterIndexFile.Outcome.same
      let isChanged = try changeDefinitions(on: session, at: file.readTime) { definitions in
        var change = Self.declaring(file.definitions, beside: definitions)
        let declared = try declaredFile(on: session)
        if change.isEmpty {
          // Otherwise a file that was read between the two times would count.
          if let declared, declared.readTime >= file.readTime { return change }
        } else if let declared, declared.node != node {
          guard declared.readTime < file.readTime else {
            outcome = .outdated(declared)
            return Change()
          }
          // A node that was started again has another number.
          outcome = declared.nodeName == nodeName ? .changed : .replaced(declared)
        } else {
          // A look at the indexes may have begun with the file before.
          guard declared.map({ $0.readTime <= file.readTime }) ?? true else { return Change() }
          outcome = .changed
        }
        change.file = mine
        return change
      }
      assert(isChanged || outcome != .changed, "a change of declared indexes changed nothing")
      return outcome
    }

    /// Returns true if the database has declared the indexes of a file, and none of a file that was read earlier.
    func isDeclared(_ file: ClusterIndexFile, on session: PostgresSession) throws -> Bool {
      let rows = try session.run(ClusterDefinitions.statement.call(.int8(reader.database)))
      let definitions = try ClusterDefinitions(rows, generation: 0, state: 0)
      guard Self.declaring(file.definitions, beside: definitions).isEmpty else { return false }
      return try declaredFile(on: session).map { $0.readTime >= file.readTime } ?? false
    }

    private func declaredFile(on session: PostgresSession) throws -> ClusterIndexFile.Declared? {
      try session.run(IndexStatements.declaredFile.call(.int8(reader.database))).first.map { row in
        ClusterIndexFile.Declared(
          readTime: try row.int64(0), node: try row.int64(1),
          nodeName: String(decoding: try row.bytes(2), as: UTF8.self))
      }
    }
  }
#endif
