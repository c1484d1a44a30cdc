#if PostgreSQL
  #if canImport(Darwin)
    internal import Darwin
  #elseif canImport(Glibc)
    internal import Glibc
  #elseif canImport(Musl)
    internal import Musl
  #endif

  /// One address of a host: each is tried for a time of its own, so that one that answers nothing does not use up that of the others.
  struct PostgresAddress: Equatable, CustomStringConvertible {
    let host: PostgresConfiguration.Host
    /// The address as digits; nil for a socket of the file system.
    let digits: String?

    var description: String {
      guard let digits, digits != host.name else { return host.description }
      return "\(host) (\(digits))"
    }

    /// The addresses of a host in the order of the system's resolver.
    static func all(of host: PostgresConfiguration.Host) throws(PostgresError) -> [PostgresAddress] {
      if host.isLocal { return [PostgresAddress(host: host, digits: nil)] }
      if let digits = host.address { return [PostgresAddress(host: host, digits: digits)] }
      let name = host.name ?? ""
      let digits = try resolve(name, host.port)
      return digits.map { PostgresAddress(host: host, digits: $0) }
    }

    private static func resolve(_ name: String, _ port: String) throws(PostgresError) -> [String] {
      var hints = addrinfo()
      #if canImport(Darwin)
        hints.ai_socktype = SOCK_STREAM
      #else
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
      #endif
      var first: UnsafeMutablePointer<addrinfo>?
      let status = getaddrinfo(name, port, &hints, &first)
      guard status == 0, let first else {
        let reason = String(cString: gai_strerror(status))
        throw PostgresError(.connection, "The host \"\(name)\" of PostgreSQL cannot be resolved: \(reason).")
      }
      defer { freeaddrinfo(first) }
      return sequence(first: first, next: { $0.pointee.ai_next }).compactMap { entry in
        digits(of: entry.pointee)
      }
    }

    private static func digits(of entry: addrinfo) -> String? {
      var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
      guard
        getnameinfo(entry.ai_addr, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
      else { return nil }
      return text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } }
    }
  }
#endif
