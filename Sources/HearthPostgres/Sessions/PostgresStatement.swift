#if PostgreSQL
  /// A statement of SQL with numbered parameters (`$1`), prepared by each session at its first use there.
  ///
  /// A session keeps up to ``PostgresSession/preparedStatementLimit`` of them, and sends further ones with their text each time.
  package struct PostgresStatement: Sendable {
    /// The name of the statement in errors, metrics and tests.
    package let name: String
    package let sql: String
    package let parameterTypes: [PostgresType]

    package init(_ name: String, _ sql: String, _ parameterTypes: [PostgresType] = []) {
      self.name = name
      self.sql = sql
      self.parameterTypes = parameterTypes
    }

    /// The statement with its parameters, for ``PostgresSession/run(_:deadline:)``.
    package func call(_ parameters: PostgresValue...) -> PostgresCall {
      PostgresCall(self, parameters)
    }
  }

  /// Two statements are the same if they have the same name, text and types. Names differ as a rule, so they alone are hashed.
  extension PostgresStatement: Hashable {
    package func hash(into hasher: inout Hasher) {
      hasher.combine(name)
    }
  }

  /// A statement with values for its parameters: one step of a pipeline.
  package struct PostgresCall: Sendable {
    package let statement: PostgresStatement
    package let parameters: [PostgresValue]

    package init(_ statement: PostgresStatement, _ parameters: [PostgresValue] = []) {
      assert(
        parameters.count == statement.parameterTypes.count,
        "\(statement.name) has \(statement.parameterTypes.count) parameters, not \(parameters.count)")
      self.statement = statement
      self.parameters = parameters
    }
  }

  extension PostgresCall {
    /// BEGIN at READ COMMITTED: each statement sees what is committed when it begins.
    package static let begin = PostgresCall(PostgresStatement("begin", "BEGIN ISOLATION LEVEL READ COMMITTED"))

    /// BEGIN for reads that all see one state.
    package static let beginSnapshot = PostgresCall(
      PostgresStatement("begin snapshot", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"))

    package static let commit = PostgresCall(PostgresStatement("commit", "COMMIT"))

    package static let rollback = PostgresCall(PostgresStatement("rollback", "ROLLBACK"))

    /// True for ``commit``. While its answer is missing, the outcome of the transaction is unknown.
    var isCommit: Bool { statement.sql == Self.commit.statement.sql }

    var isBegin: Bool { statement.sql.hasPrefix("BEGIN") }
  }
#endif
