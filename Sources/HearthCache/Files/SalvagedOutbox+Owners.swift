internal import HearthModel
internal import HearthStore

/// The owners of batches.
///
/// Three places name the owner of a batch: its row, the index of the queue and the list of documents. Two places name the user with a
/// number: the table of users and its index. If one of them is damaged, the others decide. If none decides, the batch has no owner and is
/// not sent.
extension SalvagedOutbox {
  typealias UserRow = MutationQueue.UserRow

  /// The users that the index of the queue and the list of documents name for a batch.
  struct Witnesses {
    var index: Set<UserRow> = []
    var documents: Set<UserRow> = []

    var users: Set<UserRow> { index.union(documents) }
  }

  /// The user to whom a batch belongs: the one on whom all agree that name any, or two of the three. Nil if there is none.
  ///
  /// - Parameter row: The user that the row of the batch names, if it does.
  func owner(of batchID: BatchID, row: UserRow?) -> UserRow? {
    let witnesses = self.witnesses[batchID] ?? Witnesses()
    let ofRow: Set<UserRow> = if let row { [row] } else { [] }
    let named = [ofRow, witnesses.index, witnesses.documents]
      .map { $0.filter(canBeUser) }.filter { !$0.isEmpty }
    let users = named.reduce(into: Set<UserRow>()) { $0.formUnion($1) }
    if users.count == 1 { return users.first }
    return users.first { user in named.filter { $0 == [user] }.count > 1 }
  }

  /// Returns false for a number that is no user's, which says nothing about the owner.
  private func canBeUser(_ number: UserRow) -> Bool {
    number > 0 && (userKeys[number] != nil || !areUsersComplete)
  }

  // MARK: - Witnesses

  mutating func readWitnesses(_ database: Database) {
    let index = scan(
      database, "SELECT batch_id, user_id FROM cache_mutation_batches INDEXED BY cache_mutation_batches_by_user"
    ) { outbox, row in outbox.note(row, \.index) }
    let documents = scan(database, "SELECT batch_id, user_id FROM cache_batch_documents") { outbox, row in
      outbox.note(row, \.documents)
    }
    areWitnessesComplete = index && documents
  }

  private mutating func note(_ row: Statement, _ place: WritableKeyPath<Witnesses, Set<UserRow>>) {
    guard let batchID = try? row.int64(at: 0), Self.isBatchID(batchID) else { return }
    var known = witnesses[batchID] ?? Witnesses()
    if let user = try? row.int64(at: 1), user > 0 { known[keyPath: place].insert(user) }
    witnesses[batchID] = known
  }

  // MARK: - Users

  /// A row of the users.
  private struct User: Hashable {
    var number: UserRow
    /// The bytes of the key. Texts that are equal to Swift may differ in them, and are the keys of two users then.
    var key: [UInt8]
  }

  /// Reads the users from the table and from its index. Either has all of them.
  mutating func readUsers(_ database: Database, _ path: String) {
    let (table, isTableWhole) = users(in: database, "NOT INDEXED")
    let (index, isIndexWhole) = users(in: database, "INDEXED BY sqlite_autoindex_cache_users_1")
    areUsersComplete = isTableWhole && isIndexWhole && table == index
    // An entry that both have is right, so one that contradicts it is wrong.
    enter(table.intersection(index))
    enter(table.symmetricDifference(index))
    // If both are damaged, the pages are read, except for numbers on which they disagree. A row with a sound key is never deleted.
    let kept = usersOfKeptRows(database)
    let missing = witnesses.values.reduce(into: kept) { $0.formUnion($1.users) }
      .subtracting(table.union(index).map(\.number))
    var found: Set<User> = []
    for row in DatabaseLeaves.rows(in: path, numbers: missing) {
      guard row.columns.count == 2, row.columns[0] == .null, case .text(let bytes) = row.columns[1],
        let key = String(validating: bytes, as: UTF8.self), OutboxOwner.isKey(key)
      else { continue }
      found.insert(User(number: row.number, key: bytes))
    }
    enter(found)
  }

  private mutating func users(in database: Database, _ source: String) -> (users: Set<User>, isWhole: Bool) {
    var users: Set<User> = []
    let isWhole = scan(database, "SELECT user_id, user_key FROM cache_users \(source)") { _, row in
      // The page may be that of another table or index.
      guard let number = try? row.int64(at: 0), number > 0, let key = try? row.string(at: 1), OutboxOwner.isKey(key)
      else { return }
      users.insert(User(number: number, key: Array(key.utf8)))
    }
    return (users, isWhole)
  }

  /// Takes users over whose number and key nobody else has, neither of those known before nor of these.
  private mutating func enter(_ users: Set<User>) {
    let knownKeys = Set(userKeys.values.map { Array($0.utf8) })
    let new = users.filter { userKeys[$0.number] == nil && !knownKeys.contains($0.key) }
    let (byNumber, byKey) = (Dictionary(grouping: new, by: \.number), Dictionary(grouping: new, by: \.key))
    for user in new where byNumber[user.number]?.count == 1 && byKey[user.key]?.count == 1 {
      userKeys[user.number] = String(decoding: user.key, as: UTF8.self)
    }
  }

  private mutating func usersOfKeptRows(_ database: Database) -> Set<UserRow> {
    var users: Set<UserRow> = []
    for table in ["cache_unreadable_batches", "cache_rejected_batches"] {
      scan(database, "SELECT DISTINCT user_id FROM \(table) WHERE user_id > 0") { _, row in
        if let user = try? row.int64(at: 0) { users.insert(user) }
      }
    }
    return users
  }
}
