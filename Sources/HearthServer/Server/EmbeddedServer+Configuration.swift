package import HearthRPC
package import Metrics

extension EmbeddedServer {
  /// The intervals of a server's periodic work.
  package struct Intervals: Sendable {
    /// Between fresh resume tokens of an idle listen stream, if there were commits.
    package var tokenRefresh = Duration.seconds(30)
    /// Between looks for a change of the file with indexes.
    package var indexFile = Duration.seconds(1)
    /// Between looks for a change of the file with rules.
    package var rulesFile = Duration.seconds(1)
    /// Between looks for a change of the files with the certificate.
    package var certificate = Duration.seconds(1)
    /// Between looks at the place of the databases.
    package var databases = Duration.seconds(1)
    /// The interval between reports of present use, in addition to ``EmbeddedServer/reportUse()``.
    package var metrics = Duration.seconds(10)
  }

  /// Something that a server does not do unless it is asked to.
  package enum Permission: Sendable {
    /// Serve on an address that other machines reach without telling callers apart. Every caller may then read and write everything.
    case openToEveryone
    /// Serve without TLS on an address that other machines reach, because a proxy in front of the server has the certificate.
    case withoutTLS
    /// `POST /shutdown` ends the server, in development only: nobody asks who calls.
    case shutdown
    /// `DELETE /emulator/v1/…` deletes all documents of a database on disk, as it always does of one in memory.
    case clearing
  }

  /// The callers of a server, and the rules for them.
  package enum Callers: Sendable {
    /// All callers, under the names that they give. Where there are no rules, everybody may do everything.
    case development(AccessRules = AccessRules(isDevelopment: true))
    /// The callers that the authenticator identifies as a ``Caller``. Where there are no rules, only the owner may do anything.
    case locked(any CallAuthenticator, AccessRules = AccessRules())

    var authenticator: any CallAuthenticator {
      switch self {
      case .development: DevelopmentAuthenticator()
      case .locked(let authenticator, _): authenticator
      }
    }

    var rules: AccessRules {
      switch self {
      case .development(let rules), .locked(_, let rules): rules
      }
    }

    /// True if callers may replace the rules, and may do everything where there are none.
    var isDevelopment: Bool { rules.isDevelopment }
  }

  /// The configuration of a server at its start.
  package struct Configuration: Sendable {
    /// An IP address of this machine, or `localhost`.
    package var host = "127.0.0.1"
    /// 0...65535; 0 lets the system choose, see ``EmbeddedServer/port``.
    package var port = 0
    /// The path of a file with security rules for all projects. It is read again when it changes.
    package var rulesFile: String?
    /// The files of the server's certificate; nil for connections without TLS.
    package var certificate: ServerCertificate.Files?
    package var permissions: Set<Permission> = []
    /// The place of the databases.
    package var storage: StorageLocation
    /// Commit times come from here.
    package var clock = ServerClock.system
    /// The path of a `firestore.indexes.json` whose indexes every database gets. It is read again when it changes.
    package var indexFile: String?
    /// The limits of connections and calls.
    package var limits = ServerLimits()
    /// The limits of what calls do in databases.
    package var databaseLimits = DatabaseLimits()
    /// The web pages that may use the server, and the names by which it is called.
    package var access = WebAccess()
    /// Sees every call that may be made.
    package var interceptor: (any CallInterceptor)?
    /// Gets what ``ServerMetric`` lists.
    package var metrics: any MetricsFactory = MetricsSystem.factory
    package var intervals = Intervals()
    /// The callers, and the rules for them.
    package var callers = Callers.development()
    /// Adds handlers in front of those of each connection, such as TLS.
    var prepare: CallListener.Preparation?

    package init(storage: StorageLocation) {
      self.storage = storage
    }

    /// The address to listen on as numbers.
    var numericHost: String { host == "localhost" ? "127.0.0.1" : host }

    /// Calls of one address that may fail to authenticate in a minute; 0 for any number.
    var failedAuthenticationsPerMinute: Int {
      limits.failedAuthenticationsPerMinute ?? (hasAddressesOfClients ? ServerLimits.usualFailedAuthentications : 0)
    }

    /// False for a server that is reached through a proxy, in front of this machine or on it: it calls for everybody.
    var hasAddressesOfClients: Bool {
      limits.hasAddressesOfClients
        || AddressReach(numericHost: numericHost) == .otherMachines && !permissions.contains(.withoutTLS)
    }

    /// Checks the address, and that it is reached only by those who may.
    ///
    /// - Returns: True if every caller of another machine may do everything.
    func checkAddress() throws(ServerError) -> Bool {
      guard (0...65535).contains(port) else {
        throw ServerError(.configuration, "Port \(port) does not exist: choose one between 0 and 65535.")
      }
      guard let reach = AddressReach(numericHost: numericHost) else {
        throw ServerError(
          .configuration, "Cannot listen on \(host): the host must be localhost or an IP address of this machine.")
      }
      if permissions.contains(.withoutTLS), callers.isDevelopment, !permissions.contains(.openToEveryone) {
        throw ServerError(
          .configuration,
          "--tls-at-proxy says that a proxy lets others reach this server, which does not tell callers apart: every caller may "
            + "read, write and delete everything. Say who may call (--admin-token-file, --service-account), or say "
            + "--open-to-everyone if that is what you want.")
      }
      guard reach == .otherMachines else { return false }
      if callers.isDevelopment {
        guard permissions.contains(.openToEveryone) else {
          throw ServerError(
            .configuration,
            "\(host) can be reached from other machines, and this server does not tell callers apart: every caller "
              + "may read, write and delete everything. Say who may call (--admin-token-file, --service-account) and "
              + "give the server a certificate (--tls-certificate), use a loopback address such as 127.0.0.1, or say "
              + "--open-to-everyone if that is what you want.")
        }
        return true
      } else {
        guard certificate != nil || permissions.contains(.withoutTLS) else {
          throw ServerError(
            .configuration,
            "\(host) can be reached from other machines, and tokens would travel unencrypted: give the server a "
              + "certificate (--tls-certificate, --tls-key), or say --tls-at-proxy if a proxy in front of it has one.")
        }
        return false
      }
    }
  }
}
