#if PostgreSQL
  internal import CPostgres

  extension Connection {
    /// Connects to one address and signs in.
    static func open(
      _ configuration: PostgresConfiguration, _ address: PostgresAddress, label: String,
      until deadline: ContinuousClock.Instant, _ notices: NoticeReceiver
    ) throws(PostgresError) -> Connection {
      let parameters = configuration.parameters(for: address, label: label)
      let pointer = withCStrings(parameters.map(\.key)) { keywords in
        withCStrings(parameters.map(\.value)) { PQconnectStartParams(keywords, $0, 0) }
      }
      guard let pointer else { throw PostgresError(.connection, "There is no memory for a connection.") }
      notices.attach(to: pointer)
      // Only so the messages have the SQLSTATE.
      PQsetErrorVerbosity(pointer, PQERRORS_VERBOSE)
      do {
        try connect(pointer, until: deadline)
      } catch {
        PQfinish(pointer)
        throw error
      }
      return try Connection(pointer, notices: notices)
    }

    private static func connect(
      _ pointer: OpaquePointer, until deadline: ContinuousClock.Instant
    ) throws(PostgresError) {
      guard PQstatus(pointer) != CONNECTION_BAD else { throw PostgresError(opening: pointer) }
      var state = PGRES_POLLING_WRITING
      while state != PGRES_POLLING_OK {
        guard state != PGRES_POLLING_FAILED else { throw PostgresError(opening: pointer) }
        // The socket may be another one after each step.
        let interest: DescriptorWait.Interests = state == PGRES_POLLING_READING ? .reading : .writing
        guard ContinuousClock.now < deadline,
          DescriptorWait.wait(for: PQsocket(pointer), interest, until: deadline)
        else {
          throw PostgresError(
            .deadline, "It has not answered in time. Check its address and port, or raise connect_timeout in the URL.")
        }
        state = PQconnectPoll(pointer)
      }
    }
  }

  extension PostgresConfiguration {
    fileprivate func parameters(for address: PostgresAddress, label: String) -> [(key: String, value: String)] {
      var parameters = parameters
      parameters["host"] = address.host.name
      parameters["hostaddr"] = address.digits ?? ""
      parameters["port"] = address.host.port
      // Checked after the settings, so that each host gets its time.
      parameters["target_session_attrs"] = "any"
      parameters["application_name"] = parameters["application_name"] ?? label
      return parameters.sorted { $0.key < $1.key }
    }
  }

  extension PostgresError {
    /// The error that libpq reports for a connection that it cannot open.
    init(opening connection: OpaquePointer) {
      let text = PQerrorMessage(connection).map { String(cString: $0).trimmed } ?? ""
      let lines = text.split(separator: "\n").filter { !$0.hasPrefix("LOCATION:") }
      var message = lines.map { String($0.drop(while: \.isWhitespace)).trimmed }.joined(separator: "; ")
      var state = Self.sqlState(in: message)
      // The caller names the address.
      if let state, let place = message.firstRange(of: "\(state): ") { message.removeSubrange(..<place.upperBound) }
      if PQconnectionNeedsPassword(connection) == 1 { state = .invalidPassword }
      self.init(.connection, message.isEmpty ? "The connection cannot be opened." : message, sqlState: state)
    }

    /// libpq has no other way to the SQLSTATE of a refused connection than its message: `FATAL:  28P01: password …`.
    private static func sqlState(in message: String) -> SQLState? {
      let words = message.split(separator: " ")
      let state = zip(words, words.dropFirst()).first { severity, word in
        severity.hasSuffix(":") && word.utf8.count == 6 && word.hasSuffix(":") && isSQLState(word.dropLast().utf8)
      }
      return state.map { SQLState(String($0.1.dropLast())) }
    }

    /// True for digits and capitals, with a digit at least: `FATAL` is none.
    private static func isSQLState(_ word: Substring.UTF8View) -> Bool {
      let (digits, capitals) = (UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"))
      return word.contains { digits ~= $0 } && word.allSatisfy { digits ~= $0 || capitals ~= $0 }
    }
  }

  /// Calls `body` with an array of C strings that ends with a null.
  private func withCStrings<Result>(
    _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
  ) -> Result {
    var bytes: [CChar] = []
    let offsets = strings.map { string in
      defer { bytes += string.utf8CString }
      return bytes.count
    }
    return bytes.withUnsafeBufferPointer { buffer in
      var pointers = offsets.map { offset in buffer.baseAddress.map { $0 + offset } }
      pointers.append(nil)
      return body(pointers)
    }
  }
#endif
