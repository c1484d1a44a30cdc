internal import HearthModel
internal import HearthStore

extension Statement {
  /// Reads a number that counts up from 0 in the life of a cache. One that no use can have reached is damage, so that what is read here can
  /// be added to without a check.
  func counter(at column: Int, _ damage: (String) -> CacheError) throws -> Int64 {
    let number = try int64(at: column)
    guard CountedNumber.range.contains(number) else { throw damage("\(number) is not a number that is counted") }
    return number
  }

  /// Reads a version from two columns: seconds, then nanoseconds (0 up to 999,999,999).
  func version(at column: Int, table: String, row: String) throws -> SnapshotVersion {
    let nanos = try int64(at: column + 1)
    guard (0..<1_000_000_000).contains(nanos), let nanoseconds = Int32(exactly: nanos) else {
      throw CacheError.corruptRecord(
        table: table, row: row, reason: "a version has \(nanos) nanoseconds (allowed are 0 up to 999999999)")
    }
    return SnapshotVersion(Timestamp(seconds: try int64(at: column), nanoseconds: nanoseconds))
  }

  /// Reads a document key from its canonical string.
  func documentKey(at column: Int, table: String) throws -> DocumentKey {
    let path = try string(at: column)
    do {
      return try DocumentKey(ResourcePath(canonical: path))
    } catch {
      throw CacheError.corruptRecord(table: table, row: path, reason: "not a document path (\(error))")
    }
  }
}
