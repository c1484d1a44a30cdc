#if PostgreSQL
  import HearthPostgres
  import PostgresSupport
  import Testing

  extension PostgresSession {
    /// Expects a number as the only row of a result.
    func expect(
      _ number: Int64, from call: PostgresCall, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
      let result = try run(call).only().int64(0)
      #expect(result == number, sourceLocation: sourceLocation)
    }
  }

  /// The error of a body that must fail.
  func failure(
    sourceLocation: SourceLocation = #_sourceLocation, of body: () throws -> Void
  ) -> PostgresError? {
    #expect(throws: PostgresError.self, sourceLocation: sourceLocation, performing: body)
  }

  /// The error of a session that cannot be opened.
  func openingFailure(
    of url: String, settings: PostgresSessionSettings = PostgresSessionSettings(),
    sourceLocation: SourceLocation = #_sourceLocation
  ) async -> PostgresError? {
    await #expect(throws: PostgresError.self, sourceLocation: sourceLocation) {
      try await withPostgresSession(url, settings: settings) { $0.discard() }
    }
  }
#endif
