internal import HearthModel

/// The three times of a document as four integers.
///
/// The protocol's times have microseconds, and so do the columns. Another server may send fractions of a microsecond: one number holds them
/// for all three times. Otherwise it is 0 and takes no space. The read time is rounded up, the others down. So "read later than" is exact
/// in SQL for a bound in whole microseconds.
struct StoredTimes {
  var version: Int64
  var createTime: Int64
  var readTime: Int64
  /// Nanoseconds to add to the version, to the creation time, and to take from the read time: three decimal groups of
  /// three digits, the version's the lowest.
  var nanoseconds: Int64

  init(version: Int64, createTime: Int64, readTime: Int64, nanoseconds: Int64) {
    self.version = version
    self.createTime = createTime
    self.readTime = readTime
    self.nanoseconds = nanoseconds
  }

  /// - Throws: ``StoreError`` `misuse` for a time that does not fit 64 bits in microseconds, 292,000 years from 1970.
  init(of document: Document) throws(StoreError) {
    let version = try Self.parts(of: document.version, named: "version", of: document.key)
    let createTime = try Self.parts(of: document.createTime, named: "creation time", of: document.key)
    let readTime = try Self.parts(of: document.readTime, named: "read time", of: document.key)
    self.version = version.microseconds
    self.createTime = createTime.microseconds
    self.readTime = readTime.nanoseconds == 0 ? readTime.microseconds : readTime.microseconds + 1
    let complement = readTime.nanoseconds == 0 ? 0 : 1000 - readTime.nanoseconds
    nanoseconds = version.nanoseconds + 1000 * createTime.nanoseconds + 1_000_000 * complement
  }

  /// Whole microseconds, rounded down, and the nanoseconds that remain.
  private static func parts(
    of version: SnapshotVersion, named name: String, of key: DocumentKey
  ) throws(StoreError) -> (microseconds: Int64, nanoseconds: Int64) {
    let time = version.timestamp
    let microseconds = time.microseconds
    // The conversion saturates; one less than the largest leaves room for rounding up.
    guard microseconds > .min, microseconds < .max else {
      throw .misuse("Document \(key): the \(name) \(time) is too far from 1970 to be stored (292,000 years at most).")
    }
    return (microseconds, Int64(time.nanoseconds % 1000))
  }

  /// - Throws: ``StoreError`` `corrupt` for numbers that ``init(of:)`` cannot have made.
  func decoded() throws(StoreError) -> (
    version: SnapshotVersion, createTime: SnapshotVersion, readTime: SnapshotVersion
  ) {
    if nanoseconds == 0 {
      return (
        SnapshotVersion(microseconds: version), SnapshotVersion(microseconds: createTime),
        SnapshotVersion(microseconds: readTime)
      )
    }
    guard (0..<1_000_000_000).contains(nanoseconds), readTime > .min else {
      throw .corrupt("\(nanoseconds) is not the remainder of three times (0 to 999999999)")
    }
    let complement = nanoseconds / 1_000_000
    return (
      Self.time(version, nanoseconds % 1000), Self.time(createTime, nanoseconds / 1000 % 1000),
      complement == 0 ? Self.time(readTime, 0) : Self.time(readTime - 1, 1000 - complement)
    )
  }

  private static func time(_ microseconds: Int64, _ nanoseconds: Int64) -> SnapshotVersion {
    let whole = Timestamp(microseconds: microseconds)
    return SnapshotVersion(Timestamp(seconds: whole.seconds, nanoseconds: whole.nanoseconds + Int32(nanoseconds)))
  }
}
