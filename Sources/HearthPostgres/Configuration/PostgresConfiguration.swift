#if PostgreSQL
  /// The address of a PostgreSQL server and the parameters of sessions there: a URL as libpq reads it, for instance
  /// `postgres://hearth@db1,db2:5433/firestore?sslmode=verify-full`.
  ///
  /// | part | meaning |
  /// |---|---|
  /// | hosts | tried in their order, each address of each name; the first server with the role of `target_session_attrs` is used |
  /// | `target_session_attrs` | `read-write` (the default), `primary`, or `any` |
  /// | `sslmode`, `sslrootcert`, … | as in libpq |
  /// | `gssencmode` | `disable` by default: its handshake has no deadline |
  /// | `connect_timeout` | seconds for each address, 5 by default |
  /// | `keepalives_idle`, `tcp_user_timeout`, … | as in libpq; by default a silent server counts as lost after some 10 s |
  /// | password | never here: libpq takes it from the file of `PGPASSFILE` (`~/.pgpass`), or from `PGPASSWORD` |
  ///
  /// For parts that are missing in the URL, libpq's environment variables count, such as `PGUSER`, and then its defaults.
  package struct PostgresConfiguration: Sendable, CustomStringConvertible {
    enum Target: String, CaseIterable {
      case any
      /// A server that takes writes.
      case readWrite = "read-write"
      /// A server that is not a standby.
      case primary
    }

    /// A server as the URL names it.
    struct Host: Equatable {
      /// A name, an address, or the folder of a socket; nil for libpq's default.
      var name: String?
      /// The address to connect to, instead of that of the name.
      var address: String?
      var port: String

      /// True if the connection is a socket of the file system.
      var isLocal: Bool { address == nil && (name.map { $0.hasPrefix("/") || $0.hasPrefix("@") } ?? true) }
    }

    var hosts: [Host]
    var target: Target
    /// The time for each address.
    var connectTimeout: Duration
    /// All other parameters, by libpq's keywords.
    var parameters: [String: String]

    /// - Throws: `configuration`. The message never repeats a password.
    package init(url: String) throws(PostgresError) {
      var given = try PostgresURL.parameters(of: url)
      target = try Self.target(given.removeValue(forKey: "target_session_attrs"))
      connectTimeout = try Self.connectTimeout(given.removeValue(forKey: "connect_timeout"))
      let defaults = PostgresURL.defaults(for: ["host", "port"])
      hosts = try Self.hosts(
        names: given.removeValue(forKey: "host") ?? defaults["host"],
        addresses: given.removeValue(forKey: "hostaddr"),
        ports: given.removeValue(forKey: "port") ?? defaults["port"])
      parameters = Self.defaults.merging(given) { $1 }
      parameters["client_encoding"] = "UTF8"
    }

    /// Keep-alives after 5 s of silence, every 2 s; and 10 s for bytes that are not acknowledged.
    private static let defaults = [
      "gssencmode": "disable", "keepalives_idle": "5", "keepalives_interval": "2", "keepalives_count": "3",
      "tcp_user_timeout": "10000",
    ]

    private static let defaultPort = "5432"

    private static func target(_ text: String?) throws(PostgresError) -> Target {
      guard let text else { return .readWrite }
      guard let target = Target(rawValue: text) else {
        let names = Target.allCases.map(\.rawValue).joined(separator: ", ")
        throw PostgresError(
          .configuration, "target_session_attrs=\(text) in the URL of PostgreSQL is not supported, only \(names).")
      }
      return target
    }

    private static func connectTimeout(_ text: String?) throws(PostgresError) -> Duration {
      guard let text else { return .seconds(5) }
      guard let seconds = Int(text), 1...3600 ~= seconds else {
        throw PostgresError(
          .configuration, "connect_timeout=\(text) in the URL of PostgreSQL is not a number of seconds from 1 to 3600.")
      }
      return .seconds(seconds)
    }

    /// Hosts, their addresses and their ports are lists with commas. One port stands for all hosts.
    private static func hosts(
      names: String?, addresses: String?, ports: String?
    ) throws(PostgresError) -> [Host] {
      let names = elements(of: names)
      let addresses = elements(of: addresses)
      let ports = elements(of: ports)
      let count = max(names.count, addresses.count, 1)
      guard names.isEmpty || names.count == count, addresses.isEmpty || addresses.count == count else {
        throw PostgresError(
          .configuration,
          "The URL of PostgreSQL has \(names.count) hosts and \(addresses.count) addresses (hostaddr): give one address for each host."
        )
      }
      guard ports.count <= 1 || ports.count == count else {
        throw PostgresError(
          .configuration,
          "The URL of PostgreSQL has \(ports.count) ports for \(count) hosts: give one port for all hosts, or one for each."
        )
      }
      var hosts: [Host] = []
      for index in 0..<count {
        let port = (ports.count > 1 ? ports[index] : ports.first ?? nil) ?? defaultPort
        guard let number = Int(port), 1...65_535 ~= number else {
          throw PostgresError(
            .configuration, "The port \"\(port)\" in the URL of PostgreSQL is not a number from 1 to 65535.")
        }
        hosts.append(
          Host(
            name: names.isEmpty ? nil : names[index], address: addresses.isEmpty ? nil : addresses[index], port: port))
      }
      return hosts
    }

    /// An empty element stands for the default.
    private static func elements(of list: String?) -> [String?] {
      guard let list, !list.isEmpty else { return [] }
      return list.split(separator: ",", omittingEmptySubsequences: false).map { $0.isEmpty ? nil : String($0) }
    }

    /// User, hosts and database, for logs. Nothing in it is secret.
    package var description: String {
      let user = parameters["user"].map { "\($0)@" } ?? ""
      return "postgres://\(user)\(hosts.map(\.description).joined(separator: ","))/\(parameters["dbname"] ?? "")"
    }
  }

  extension PostgresConfiguration.Host: CustomStringConvertible {
    var description: String { "\(name ?? address ?? ""):\(port)" }
  }
#endif
