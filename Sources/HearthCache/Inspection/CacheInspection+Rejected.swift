package import HearthModel
internal import HearthStore

/// One write that the backend has refused.
package struct RejectedEntry: Equatable, Sendable {
  package var batchID: BatchID
  /// Nil if it is not known whose it is.
  package var owner: OutboxOwner?
  package var contents: OutboxEntry.Contents
  /// Nil if the row does not say one.
  package var error: StatusError?
  /// The device's time of the refusal.
  package var rejectedAt: Timestamp?
}

extension CacheInspection {
  /// Calls `body` with each refused batch that is kept, oldest first.
  ///
  /// - Parameters:
  ///   - user: Only batches of this user, `.some(nil)` being the signed-out user; nil for those of all.
  ///   - body: returns false to stop.
  package func forEachRejectedBatch(of user: String?? = nil, _ body: (RejectedEntry) throws -> Bool) throws {
    let condition = user == nil ? "" : "WHERE user_key = ? "
    let statement = try database.prepare(
      """
      SELECT batch_id, batch, user_key, code, message, rejected_seconds, rejected_nanos
      FROM cache_rejected_batches LEFT JOIN cache_users USING (user_id) \(condition)ORDER BY batch_id
      """, user.map { [.text(MutationQueue.userKey($0))] } ?? [])
    while try statement.step() {
      guard try body(rejectedEntry(statement)) else { return }
    }
  }

  private func rejectedEntry(_ row: Statement) throws -> RejectedEntry {
    let contents: OutboxEntry.Contents
    do {
      contents = .batch(try queue.decode(row))
    } catch CacheError.unreadableBatch(_, let reason) {
      contents = .unreadable(reason: reason)
    }
    let code = (try? row.int64(at: 3)).flatMap { Int(exactly: $0) }.flatMap(StatusCode.init(rawValue:))
    let nanoseconds = (try? row.int64(at: 6)).flatMap { Int32(exactly: $0) }
    let seconds = try? row.int64(at: 5)
    return RejectedEntry(
      batchID: try row.int64(at: 0), owner: try Self.owner(row), contents: contents,
      error: try code.map { StatusError(code: $0, message: try row.string(at: 4)) },
      rejectedAt: seconds.flatMap { seconds in nanoseconds.map { Timestamp(seconds: seconds, nanoseconds: $0) } })
  }
}

extension RejectedEntry {
  /// The operations, documents and error in one line, such as `update orders/1 (NOT_FOUND)`.
  var inWords: String {
    let code = error?.code.description ?? "unknown error"
    switch contents {
    case .unreadable: return "batch \(batchID), which cannot be read (\(code))"
    case .batch(let batch):
      let writes = batch.mutations.prefix(Self.namedWrites).map { "\($0.operationName) \($0.key)" }
      let more = batch.mutations.count > Self.namedWrites ? " and \(batch.mutations.count - Self.namedWrites) more" : ""
      return writes.joined(separator: ", ") + more + " (\(code))"
    }
  }

  private static let namedWrites = 3

  /// - Parameter value: gives the JSON of a value.
  package func json(_ value: (Value) -> JSONText) -> JSONText {
    var members: [(name: String, value: JSONText)] = [
      ("batch", .integer(batchID)), ("user", owner.map(\.userIDJSON) ?? .null), ("owner", .string(owner.inWords)),
      ("rejectedAt", rejectedAt.map { .string($0.rfc3339) } ?? .null),
      ("code", error.map { .string($0.code.description) } ?? .null),
      ("message", error.map { .string($0.message) } ?? .null),
    ]
    switch contents {
    case .unreadable(let reason): members.append(("unreadable", .string(reason)))
    case .batch(let batch):
      members.append(("writtenAt", .string(batch.localWriteTime.rfc3339)))
      members.append(("writes", .array(batch.mutations.map { $0.json(value) })))
    }
    return .object(members)
  }
}
