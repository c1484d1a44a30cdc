#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres

  extension SnapshotVersion {
    /// The last microsecond of the year 9999: versions are times, and no time of Firestore is later.
    static let latestOfCluster = SnapshotVersion(microseconds: 253_402_300_799_999_999)

    /// The first version after this one.
    ///
    /// - Throws: DATA_LOSS if there is none: damage alone can have made this version.
    func next() throws(StatusError) -> SnapshotVersion {
      guard self < Self.latestOfCluster else {
        throw StatusError(
          code: .dataLoss, message: "The database is damaged: its newest version is \(microseconds), the last there is."
        )
      }
      return SnapshotVersion(microseconds: microseconds + 1)
    }
  }

  extension PostgresRow {
    /// A version of a database.
    ///
    /// - Throws: `PostgresError` of the kind `badResult` for a number that cannot be one.
    func version(_ column: Int) throws(PostgresError) -> SnapshotVersion {
      try Self.version(int64(column), column)
    }

    func optionalVersion(_ column: Int) throws(PostgresError) -> SnapshotVersion? {
      guard let number = try optionalInt64(column) else { return nil }
      return try Self.version(number, column)
    }

    private static func version(_ number: Int64, _ column: Int) throws(PostgresError) -> SnapshotVersion {
      guard (0...SnapshotVersion.latestOfCluster.microseconds).contains(number) else {
        throw PostgresError(
          .badResult, "Column \(column) is \(number), which is not a version: a version is a time in microseconds.")
      }
      return SnapshotVersion(microseconds: number)
    }
  }
#endif
