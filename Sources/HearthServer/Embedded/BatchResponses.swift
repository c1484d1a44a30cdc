internal import HearthModel
internal import HearthStore
internal import HearthWire

/// The answers to the latest labelled requests.
///
/// A client is ``RequestLabel/client``. If there are too many answers in all, the answers beyond ``ResponseRetention/fairCount`` of the client with the largest
/// ones are removed first. So a client with many labels takes room from itself and not from others.
///
/// An answer is stored in the transaction of its commit. So a client whose connection broke before it received the answer
/// can send the batch again, even after a restart of either side, and it is applied once.
struct BatchResponses {
  /// The maximum number of answers of the same client that a commit removes, and of the oldest ones of all clients. It is
  /// more than the one that the commit adds, so the table returns to its limits, and no commit pays for many others.
  static let removedPerCommit: Int64 = 8

  let database: Database
  let retention: ResponseRetention
  let translator: WireTranslator

  init(database: Database, databaseID: DatabaseID, retention: ResponseRetention) {
    self.database = database
    self.retention = retention
    self.translator = WireTranslator(database: databaseID)
  }

  func response(for request: RequestLabel) throws -> CommitOutcome? {
    let select = try database.prepare(
      "SELECT response FROM server_batch_responses WHERE identity = ? AND digest = ?")
    try select.bind(1, request.label.identity.bytes)
    try select.bind(2, request.digest)
    guard try select.step() else { return nil }
    let stored = try select.bytes(at: 0)
    do {
      return try CommitOutcome(encoded: stored, by: translator)
    } catch {
      throw StoreError(
        kind: .corrupt, message: "The answer to batch \(request.label.identity) in server_batch_responses: \(error)")
    }
  }

  func save(_ outcome: CommitOutcome, for request: RequestLabel) throws {
    let response = try outcome.encoded(by: translator)
    let client = Int64(bitPattern: request.client)
    let number = try highestNumber(of: client) + 1
    let insert = try database.prepare(
      """
      INSERT INTO server_batch_responses (client, number, identity, digest, version, response)
      VALUES (?, ?, ?, ?, ?, ?)
      """)
    try insert.bind(1, client)
    try insert.bind(2, number)
    try insert.bind(3, request.label.identity.bytes)
    try insert.bind(4, request.digest)
    try insert.bind(5, outcome.version.microseconds)
    try insert.bind(6, response)
    try insert.run()
    try addToShare(of: client, count: 1, bytes: response.count)

    var totals = try totals()
    totals.count += 1
    totals.bytes += Int64(response.count)
    let share = retention.share(ofMany: request.isOfMany)
    try removeOldest(of: client, upTo: number - share.count, &totals)
    try removeOldest(of: client, beyond: share.bytes, &totals)
    try removeOldest(before: outcome.version.microseconds - retention.microseconds, &totals)
    try removeExcess(&totals)
    try store(totals)
  }

  var isEmpty: Bool { get throws { try totals().count == 0 } }

  // MARK: - Removal

  func removeAll() throws {
    try database.execute("DELETE FROM server_batch_responses")
    try database.execute("DELETE FROM server_batch_clients")
    try store(Totals(count: 0, bytes: 0))
  }

  /// The number and size of all answers, updated with each row, so that no commit has to count them.
  private struct Totals {
    var count: Int64
    var bytes: Int64
  }

  private func totals() throws -> Totals {
    let select = try database.prepare("SELECT count, bytes FROM server_batch_response_totals WHERE id = 1")
    guard try select.step() else {
      throw StoreError(kind: .corrupt, message: "server_batch_response_totals has no row")
    }
    // Sums with any number in the file fit.
    func plausible(_ column: Int) throws -> Int64 { min(max(0, try select.int64(at: column)), 1 << 60) }
    return Totals(count: try plausible(0), bytes: try plausible(1))
  }

  private func store(_ totals: Totals) throws {
    let update = try database.prepare("UPDATE server_batch_response_totals SET count = ?, bytes = ? WHERE id = 1")
    try update.bind(1, totals.count)
    try update.bind(2, totals.bytes)
    try update.run()
  }

  /// The answers of a client have consecutive numbers; the oldest ones are removed first.
  private func highestNumber(of client: Int64) throws -> Int64 {
    let select = try database.prepare(
      "SELECT number FROM server_batch_responses WHERE client = ? ORDER BY number DESC LIMIT 1")
    try select.bind(1, client)
    guard try select.step() else { return 0 }
    let number = try select.int64(at: 0)
    guard (0..<1 << 60).contains(number) else {
      let message = "server_batch_responses: client \(client) has no answer with the number \(number)"
      throw StoreError(kind: .corrupt, message: message)
    }
    return number
  }

  /// The row of an answer, as far as its removal needs it.
  private struct Answer {
    var sequence: Int64
    var client: Int64
    var bytes: Int64
    var version: Int64

    static let columns = "sequence, client, length(response), version"

    init(_ row: Statement) throws {
      sequence = try row.int64(at: 0)
      client = try row.int64(at: 1)
      bytes = try row.int64(at: 2)
      version = try row.int64(at: 3)
    }
  }

  private func answers(_ rest: String, _ bind: (Statement) throws -> Void = { _ in }) throws -> [Answer] {
    let select = try database.prepare("SELECT \(Answer.columns) FROM server_batch_responses \(rest)")
    try bind(select)
    var answers: [Answer] = []
    while try select.step() { answers.append(try Answer(select)) }
    return answers
  }

  private func removeOldest(of client: Int64, upTo number: Int64, _ totals: inout Totals) throws {
    let old = try answers("WHERE client = ? AND number <= ? ORDER BY number LIMIT ?") { select in
      try select.bind(1, client)
      try select.bind(2, number)
      try select.bind(3, Self.removedPerCommit)
    }
    for answer in old { try remove(answer, &totals) }
  }

  private func removeOldest(of client: Int64, beyond bytes: Int64, _ totals: inout Totals) throws {
    let select = try database.prepare("SELECT bytes FROM server_batch_clients WHERE client = ?")
    try select.bind(1, client)
    guard try select.step() else { return }
    var excess = try select.int64(at: 0) - bytes
    select.reset()
    guard excess > 0 else { return }
    let old = try answers("WHERE client = ? ORDER BY number LIMIT ?") { select in
      try select.bind(1, client)
      try select.bind(2, Self.removedPerCommit)
    }
    for answer in old where excess > 0 {
      try remove(answer, &totals)
      excess -= answer.bytes + Int64(ResponseRetention.bytesPerAnswer)
    }
  }

  private func removeOldest(before time: Int64, _ totals: inout Totals) throws {
    let oldest = try answers("ORDER BY sequence LIMIT ?") { try $0.bind(1, Self.removedPerCommit) }
    for answer in oldest.prefix(while: { $0.version < time }) { try remove(answer, &totals) }
  }

  private func removeExcess(_ totals: inout Totals) throws {
    for _ in 0..<Self.removedPerCommit where totals.count > retention.count || totals.bytes > retention.bytes {
      guard let answer = try oldestOfLargestShare() ?? answers("ORDER BY sequence LIMIT 1").first else { return }
      try remove(answer, &totals)
    }
  }

  /// The oldest answer of the client with the largest share; nil if nobody has more than ``ResponseRetention/fairCount``.
  private func oldestOfLargestShare() throws -> Answer? {
    let select = try database.prepare(
      "SELECT client FROM server_batch_clients WHERE count > \(ResponseRetention.fairCount) ORDER BY bytes DESC LIMIT 1"
    )
    guard try select.step() else { return nil }
    let client = try select.int64(at: 0)
    select.reset()
    return try answers("WHERE client = ? ORDER BY number LIMIT 1") { try $0.bind(1, client) }.first
  }

  private func remove(_ answer: Answer, _ totals: inout Totals) throws {
    let delete = try database.prepare("DELETE FROM server_batch_responses WHERE sequence = ?")
    try delete.bind(1, answer.sequence)
    try delete.run()
    try addToShare(of: answer.client, count: -1, bytes: -Int(answer.bytes))
    totals.count -= 1
    totals.bytes -= answer.bytes
  }

  private func addToShare(of client: Int64, count: Int, bytes: Int) throws {
    let update = try database.prepare(
      """
      INSERT INTO server_batch_clients (client, count, bytes) VALUES (?1, ?2, ?3)
      ON CONFLICT (client) DO UPDATE SET count = count + ?2, bytes = bytes + ?3
      """)
    try update.bind(1, client)
    try update.bind(2, Int64(count))
    try update.bind(3, Int64(bytes + count * ResponseRetention.bytesPerAnswer))
    try update.run()
    guard count < 0 else { return }
    let delete = try database.prepare("DELETE FROM server_batch_clients WHERE client = ? AND count <= 0")
    try delete.bind(1, client)
    try delete.run()
  }
}
