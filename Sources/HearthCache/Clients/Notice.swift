internal import HearthModel
internal import HearthStore

/// A change by one client that is reported to the others.
enum Notice {
  /// The local view of a document has changed: for one user, or for all.
  case document(DocumentKey, user: MutationQueue.UserRow?)
  /// A user's outbox has got a batch.
  case batchQueued(BatchID, user: MutationQueue.UserRow)
  /// A batch has left the outbox: the backend has committed it, or it is lost with this error. The identity is nil where it cannot be read.
  case batchAnswered(BatchID, BatchIdentity?, user: MutationQueue.UserRow, StatusError?)
  /// The view of the target at the holder of the lease has come to agree with the backend, or no longer agrees, or the target has a limit and
  /// other documents than before.
  case targetState(TargetID)
  /// The backend has refused the target.
  case targetRejected(TargetID, StatusError)
  /// The row of a target was written by something else than a snapshot of the backend.
  case targetReset(TargetID)
  /// Clients have come or gone, or want other targets, or have another user.
  case clients
  /// The online state of the holder of the lease, or the holder, has changed.
  case lease
  /// The set of indexes has changed, and the new ones must be filled.
  case indexes
  /// Damaged rows were repaired: targets in use may have lost documents.
  case repaired
  /// All clients are asked to give the folder back (``EndRequest``).
  case end
  /// A client has heard nothing from the holder of the lease, and asks whether that runs.
  case question
  /// The holder of the lease runs.
  case signOfLife
  /// More is known of writes: an attempt has failed, or the list of refused batches has changed.
  case outbox
  /// Tells the holder of the lease to try at once to send the waiting writes.
  case retryNow

  /// The numbers are part of the format.
  enum Kind: Int64 {
    case document = 0
    case batchQueued = 1
    case batchAnswered = 2
    case targetState = 3
    case targetRejected = 4
    case targetReset = 5
    case clients = 6
    case lease = 7
    case indexes = 8
    case end = 9
    case repaired = 10
    case question = 11
    case signOfLife = 12
    case outbox = 13
    case retryNow = 14
  }
}

/// The notices of a cache, numbered in the order of their transactions.
struct NoticeTable {
  let database: Database

  /// The number of the last notice; 0 if there never was one.
  ///
  /// - Throws: `CacheError.corruptRecord` for a number that is not counted. Behind the largest number of all, SQLite gives new rows any
  ///   free number, and nobody would find them.
  func lastNumber() throws -> Int64 {
    try database.firstRow("SELECT coalesce(min(number), 0), coalesce(max(number), 0) FROM cache_notices") { row in
      _ = try row.counter(at: 0) { Self.damage("first", $0) }
      return try row.counter(at: 1) { Self.damage("last", $0) }
    } ?? 0
  }

  private static func damage(_ row: String, _ reason: String) -> CacheError {
    .corruptRecord(table: "cache_notices", row: row, reason: reason)
  }

  /// - Returns: The number of the notice.
  func insert(_ notice: Notice, from client: ClientID) throws -> Int64 {
    assert(database.isInWriteTransaction, "a notice changes outside of a write transaction")
    let row = Row(notice)
    try database.update(
      "INSERT INTO cache_notices (client_id, kind, user_id, path, subject, code, message) VALUES (?, ?, ?, ?, ?, ?, ?)",
      .integer(client), .integer(row.kind.rawValue), .integer(row.user), .text(row.path), .integer(row.subject),
      .integer(row.code), .text(row.message))
    let number = database.lastInsertedRow
    guard CountedNumber.range.contains(number) else {
      throw Self.damage("\(number)", "the number is none that is counted")
    }
    return number
  }

  /// The notices of other clients behind a number, in order; nil for those of a newer release that this one does not know.
  func forEach(after number: Int64, exceptFrom client: ClientID, _ body: (Notice?) throws -> Void) throws {
    try database.forEachRow(
      """
      SELECT number, kind, user_id, path, subject, code, message FROM cache_notices
      WHERE number > ? AND client_id <> ? ORDER BY number
      """, .integer(number), .integer(client)
    ) {
      try body(notice($0))
      return true
    }
  }

  /// Removes notices behind a number and up to another one, but never the last one: the next number follows it.
  func remove(after first: Int64 = 0, upTo number: Int64, keepingAnswers: Bool) throws {
    assert(database.isInWriteTransaction, "a notice changes outside of a write transaction")
    let kept = keepingAnswers ? " AND kind <> \(Notice.Kind.batchAnswered.rawValue)" : ""
    try database.update(
      """
      DELETE FROM cache_notices
      WHERE number > ? AND number <= ? AND number < (SELECT max(number) FROM cache_notices)\(kept)
      """, .integer(first), .integer(number))
  }

  private struct Row {
    var kind: Notice.Kind
    /// 0 for all users.
    var user: Int64 = 0
    var path = ""
    var subject: Int64 = 0
    var code: Int64 = 0
    var message = ""

    init(_ notice: Notice) {
      switch notice {
      case .document(let key, let user):
        kind = .document
        self.user = user ?? 0
        path = key.canonicalString
      case .batchQueued(let batchID, let user):
        kind = .batchQueued
        self.user = user
        subject = batchID
      case .batchAnswered(let batchID, let identity, let user, let error):
        kind = .batchAnswered
        self.user = user
        path = identity?.text ?? ""
        subject = batchID
        code = Int64(error?.code.rawValue ?? 0)
        message = error?.message ?? ""
      case .targetState(let target):
        kind = .targetState
        subject = Int64(target)
      case .targetRejected(let target, let error):
        kind = .targetRejected
        subject = Int64(target)
        code = Int64(error.code.rawValue)
        message = error.message
      case .targetReset(let target):
        kind = .targetReset
        subject = Int64(target)
      case .clients: kind = .clients
      case .lease: kind = .lease
      case .indexes: kind = .indexes
      case .end: kind = .end
      case .repaired: kind = .repaired
      case .question: kind = .question
      case .signOfLife: kind = .signOfLife
      case .outbox: kind = .outbox
      case .retryNow: kind = .retryNow
      }
    }
  }

  /// - Returns: Nil for a kind that this release does not know.
  private func notice(_ row: Statement) throws -> Notice? {
    let number = try row.counter(at: 0) { Self.damage("number", $0) }
    let kind = try row.int64(at: 1)
    func damage(_ reason: String) -> CacheError { Self.damage("\(number)", reason) }
    func target() throws -> TargetID {
      let subject = try row.int64(at: 4)
      guard let target = TargetID(exactly: subject) else { throw damage("\(subject) is not a target id") }
      return target
    }
    func error() throws -> StatusError? {
      let number = try row.int64(at: 5)
      if number == 0 { return nil }
      let code = Int(exactly: number).flatMap(StatusCode.init(rawValue:)) ?? .unknown
      return StatusError(code: code, message: try row.string(at: 6))
    }
    let user = try row.int64(at: 2)
    switch Notice.Kind(rawValue: kind) {
    case .document: return .document(try row.documentKey(at: 3, table: "cache_notices"), user: user == 0 ? nil : user)
    case .batchQueued: return .batchQueued(try row.int64(at: 4), user: user)
    case .batchAnswered:
      let identity = BatchIdentity(parsing: try row.string(at: 3))
      return .batchAnswered(try row.int64(at: 4), identity, user: user, try error())
    case .targetState: return .targetState(try target())
    case .targetRejected:
      guard let error = try error() else { throw damage("a target was rejected without an error") }
      return .targetRejected(try target(), error)
    case .targetReset: return .targetReset(try target())
    case .clients: return .clients
    case .lease: return .lease
    case .indexes: return .indexes
    case .end: return .end
    case .repaired: return .repaired
    case .question: return .question
    case .signOfLife: return .signOfLife
    case .outbox: return .outbox
    case .retryNow: return .retryNow
    case nil: return nil
    }
  }
}
