internal import HearthModel

/// The user whose outbox the local view shows.
///
/// Its methods run inside a transaction. If it fails, it restores the memory.
final class ActiveUser {
  /// Restored to its former value when a transaction fails.
  struct Memory {
    /// Nil when no user is signed in.
    fileprivate var name: String?
    /// Nil until it is looked up, and while the user has written nothing. A repair removes rows, and another user can get the number: it is
    /// forgotten with each repair and with each change by another client.
    fileprivate var row: MutationQueue.UserRow?
  }

  private let queue: MutationQueue
  private(set) var memory: Memory

  init(_ name: String?, in queue: MutationQueue) {
    self.queue = queue
    memory = Memory(name: name)
  }

  func goBack(to former: Memory) { memory = former }

  var name: String? { memory.name }

  /// The key of the user in the file.
  var key: String { MutationQueue.userKey(memory.name) }

  func become(_ name: String?) { memory = Memory(name: name) }

  func forgetRow() { memory.row = nil }

  /// The user's row, nil as long as the user has never written.
  func row() throws -> MutationQueue.UserRow? {
    if let row = memory.row { return row }
    memory.row = try queue.row(of: memory.name)
    return memory.row
  }

  /// The user's row, which is made where there is none. Looked up each time: a row that is only in memory is no owner of a write.
  func rowForWriting() throws -> MutationQueue.UserRow {
    if let row = memory.row {
      try queue.checkIsUser(row, userKey: key)
      return row
    }
    let row = try queue.makeRow(userKey: key)
    memory.row = row
    return row
  }

  // MARK: - Other users

  func name(of owner: LocalStore.Owner) -> String? {
    switch owner {
    case .activeUser: memory.name
    case .user(let user): user
    }
  }

  func row(of owner: LocalStore.Owner) throws -> MutationQueue.UserRow? {
    let user = name(of: owner)
    return try isActive(user) ? row() : queue.row(of: user)
  }

  func rowForWriting(of owner: LocalStore.Owner) throws -> MutationQueue.UserRow {
    let user = name(of: owner)
    return try isActive(user) ? rowForWriting() : queue.makeRow(userKey: MutationQueue.userKey(user))
  }

  func isActive(_ user: String?) -> Bool { Self.isSame(user, memory.name) }

  /// By bytes: Swift's `==` also unites composed and decomposed characters.
  static func isSame(_ a: String?, _ b: String?) -> Bool {
    MutationQueue.userKey(a).utf8.elementsEqual(MutationQueue.userKey(b).utf8)
  }
}
