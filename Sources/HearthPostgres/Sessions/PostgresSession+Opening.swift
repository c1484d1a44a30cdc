#if PostgreSQL
  extension PostgresSession {
    /// Opens a session with the first of the hosts that is reachable and has the role that the configuration demands.
    ///
    /// - Parameters:
    ///   - deadline: The end of the whole attempt. Names are resolved by the system, which may take longer.
    ///   - label: `application_name` at the server, unless the URL has one.
    ///   - onNotice: Called on the thread of the session for each notice and warning of the server. It must not use the session.
    /// - Throws: `connection`, `configuration` or `deadline`; the message has a sentence for each address.
    package static func open(
      _ configuration: PostgresConfiguration, settings: PostgresSessionSettings = PostgresSessionSettings(),
      label: String = "hearth", deadline: ContinuousClock.Instant,
      onNotice: (@Sendable (PostgresNotice) -> Void)? = nil
    ) throws(PostgresError) -> PostgresSession {
      var failures: [PostgresError] = []
      for host in configuration.hosts {
        for address in try addresses(of: host, &failures) {
          do {
            let connection = try Connection.open(
              configuration, address, label: label,
              until: min(deadline, .now + configuration.connectTimeout), NoticeReceiver(onNotice))
            let session = PostgresSession(connection, deadline: deadline)
            try session.prepare(configuration, settings, until: min(deadline, .now + configuration.connectTimeout))
            return session
          } catch {
            failures.append(error.located(at: address))
          }
          guard deadline > .now else { throw summary(of: failures, kind: .deadline) }
        }
      }
      throw summary(of: failures, kind: .connection)
    }

    private static func addresses(
      of host: PostgresConfiguration.Host, _ failures: inout [PostgresError]
    ) throws(PostgresError) -> [PostgresAddress] {
      do {
        return try PostgresAddress.all(of: host)
      } catch {
        failures.append(error)
        return []
      }
    }

    /// The most important failure decides what kind of error it is: one that only an operator can end, and else the first.
    private static func summary(of failures: [PostgresError], kind: PostgresError.Kind) -> PostgresError {
      let main = failures.first(where: \.needsOperator) ?? failures.first { $0.sqlState != nil } ?? failures.first
      return PostgresError(
        main?.kind == .configuration ? .configuration : kind,
        failures.isEmpty
          ? "The hosts in the URL of PostgreSQL have no addresses." : failures.map(\.message).joined(separator: " "),
        sqlState: main?.sqlState)
    }

    /// Applies the settings, and checks that the server has the role that the configuration demands, in one round trip.
    private func prepare(
      _ configuration: PostgresConfiguration, _ settings: PostgresSessionSettings,
      until deadline: ContinuousClock.Instant
    ) throws(PostgresError) {
      let values = settings.values.sorted { $0.key < $1.key }
      do {
        let rows = try run(
          [
            Self.setStatement.call(.textArray(values.map(\.key)), .textArray(values.map(\.value))),
            Self.targetStatement.call(),
          ], deadline: deadline)
        let row = try rows[1].only()
        try configuration.check(isReadOnly: row.bool(0), isInRecovery: row.bool(1))
      } catch {
        throw error.whileOpening
      }
    }

    private static let setStatement = PostgresStatement(
      "set",
      "SELECT count(set_config(name, value, false)) FROM unnest($1::text[], $2::text[]) AS setting (name, value)",
      [.textArray, .textArray])

    private static let targetStatement = PostgresStatement(
      "target", "SELECT current_setting('transaction_read_only')::bool, pg_is_in_recovery()")
  }

  extension PostgresConfiguration {
    /// - Throws: `connection` with SQLSTATE 25006: the server may get the demanded role later, or another host may have it.
    fileprivate func check(isReadOnly: Bool, isInRecovery: Bool) throws(PostgresError) {
      let advice = hosts.count > 1 ? "" : " Name all hosts in the URL, with commas between them."
      let reason: String? =
        switch target {
        case .any: nil
        case .primary: isInRecovery ? "It is a standby, and the URL demands the primary.\(advice)" : nil
        case .readWrite:
          isInRecovery
            ? "It is a standby, which takes no writes.\(advice)"
            : isReadOnly ? "It takes no writes: default_transaction_read_only is on. Set it to off." : nil
        }
      if let reason { throw PostgresError(.connection, reason, sqlState: .readOnlyTransaction) }
    }
  }

  extension PostgresError {
    /// The failure to open a session, in place of that of a statement. A setting that the server refuses is an error of the configuration.
    fileprivate var whileOpening: PostgresError {
      guard kind == .statement || kind == .badResult else { return self }
      var error = self
      error.kind = sqlState?.errorClass == "42" || sqlState?.errorClass == "22" ? .configuration : .connection
      return error
    }

    /// The message with the address, and with what to do.
    fileprivate func located(at address: PostgresAddress) -> PostgresError {
      var error = self
      let end = message.last.map { ".!?".contains($0) } == true ? "" : "."
      error.message = "PostgreSQL at \(address): \(message)\(end)\(advice.map { " \($0)" } ?? "")"
      return error
    }

    private var advice: String? {
      switch sqlState {
      case .invalidPassword?:
        """
        Put the password into the password file (~/.pgpass, or the file of PGPASSFILE; lines are host:port:database:user:password) or into \
        the environment variable PGPASSWORD.
        """
      case .invalidAuthorization?: "Create the role, or permit it in the server's pg_hba.conf."
      case .unknownDatabase?: "Create the database with createdb, or correct its name in the URL."
      case .insufficientPrivilege?: "Give the role of the URL the missing right (GRANT)."
      case .tooManyConnections?: "Raise the server's max_connections, or use fewer sessions."
      case .duplicateStatement?, .invalidStatementName?:
        "A pooler such as pgbouncer must give each session a connection of its own (pool_mode = session)."
      default: nil
      }
    }
  }
#endif
