#if PostgreSQL
  internal import CPostgres

  /// Reads URLs with libpq.
  enum PostgresURL {
    private static let schemes = ["postgres://", "postgresql://"]

    /// The parameters that the URL names, with libpq's keywords.
    ///
    /// - Throws: `configuration`, with a message that repeats nothing that may be a password.
    static func parameters(of url: String) throws(PostgresError) -> [String: String] {
      guard let scheme = schemes.first(where: url.hasPrefix) else {
        throw PostgresError(.configuration, "The URL of PostgreSQL must begin with postgres:// or postgresql://.")
      }
      guard !hasPassword(url.dropFirst(scheme.count)) else { throw passwordRefusal }
      var message: UnsafeMutablePointer<CChar>?
      guard let options = PQconninfoParse(url, &message) else {
        let reason = message.map { String(cString: $0).trimmed } ?? "out of memory"
        PQfreemem(message)
        // libpq quotes what it does not understand.
        throw PostgresError(
          .configuration,
          url.lowercased().contains("pass")
            ? "The URL of PostgreSQL cannot be read. libpq's reason is left out, because it may repeat a password."
            : "The URL of PostgreSQL cannot be read: \(reason).")
      }
      defer { PQconninfoFree(options) }
      var parameters: [String: String] = [:]
      for option in Options(first: options) where option.value != nil {
        guard !option.isSecret else { throw passwordRefusal }
        guard !unsupported.contains(option.keyword) else {
          throw PostgresError(
            .configuration, "The parameter \(option.keyword) is not supported in the URL of PostgreSQL: leave it out.")
        }
        parameters[option.keyword] = option.value
      }
      return parameters
    }

    /// The values that libpq uses for parameters that the URL does not have, also those of environment variables.
    static func defaults(for keywords: Set<String>) -> [String: String] {
      guard let options = PQconndefaults() else { return [:] }
      defer { PQconninfoFree(options) }
      return Options(first: options).reduce(into: [:]) { defaults, option in
        if keywords.contains(option.keyword) { defaults[option.keyword] = option.value }
      }
    }

    /// The file of a service may have hosts and passwords that this type does not see. A replication session runs no statements.
    private static let unsupported: Set<String> = ["service", "replication"]

    private static let passwordRefusal = PostgresError(
      .configuration,
      """
      The URL of PostgreSQL has a password, which other users of the machine could see. Leave it out, and put it into the password file \
      (~/.pgpass, or the file of PGPASSFILE; lines are host:port:database:user:password) or into the environment variable PGPASSWORD. \
      An @ elsewhere in the URL is written %40.
      """)

    /// True if the URL may have a password: if there is a colon before its first @, or before the last @ in front of the parameters. That
    /// is more than what libpq takes for a password, because a password with special characters may look like a host.
    private static func hasPassword(_ rest: Substring) -> Bool {
      if let first = rest.firstIndex(of: "@"), rest[..<first].contains(":") { return true }
      let place = rest.prefix { $0 != "?" }
      return place.lastIndex(of: "@").map { place[..<$0].contains(":") } ?? false
    }
  }

  /// The array of libpq that ends with an option without a keyword.
  private struct Options: Sequence, IteratorProtocol {
    struct Option {
      let keyword: String
      let value: String?
      let isSecret: Bool
    }

    var first: UnsafeMutablePointer<PQconninfoOption>

    mutating func next() -> Option? {
      guard let keyword = first.pointee.keyword else { return nil }
      defer { first += 1 }
      return Option(
        keyword: String(cString: keyword), value: first.pointee.val.map { String(cString: $0) },
        isSecret: first.pointee.dispchar.map { String(cString: $0) == "*" } ?? false)
    }
  }

  extension String {
    /// Without the line break at the end of libpq's messages.
    var trimmed: String {
      var text = Substring(self)
      while text.last?.isWhitespace == true { text.removeLast() }
      return String(text)
    }
  }
#endif
