internal import HearthModel
internal import HearthRPC

/// The databases of a server by their state, and the calls that wait for one.
///
/// Its methods take events and return actions; the caller carries these out without holding its lock. A database is in one of these states:
///
/// | state | begins with | ends with |
/// |---|---|---|
/// | opening | ``ask(_:_:_:at:)`` | ``opened(_:_:at:)``, ``openedBlank(_:_:storage:revive:)``, ``failed(_:_:)`` |
/// | blank: without commits, in memory | ``openedBlank(_:_:storage:revive:)`` | ``settled(_:at:)``, or nothing uses it |
/// | open | ``opened(_:_:at:)``, ``settled(_:at:)`` | ``beginClosing(_:unusedSince:)``, ``shutDown()`` |
/// | closing | ``beginClosing(_:unusedSince:)``, ``shutDown()`` | ``closed(_:)``, ``keep(_:_:at:)`` |
///
/// Calls wait while their database is being opened or closed. At most one storage of a database exists at a time: a new one is opened only
/// after the former one has been closed or released.
struct DatabaseTable<Database: AnyObject & Sendable, Waiter: Sendable> {
  typealias WaiterID = Int

  enum Action: Sendable {
    /// Opens the database: ``admit(_:_:)`` follows, and then its result.
    case open(DatabaseID)
    /// Closes a database that is no longer wanted; ``closed(_:)`` follows.
    case close(Database)
    /// Ends the waiting of calls.
    case resume([Waiter], Result<Database, StatusError>)
    /// Gives up a reference. It may be the last one, whose end frees a storage.
    case release(Database)
  }

  /// The two kinds of databases that can be opened.
  enum Kind: Sendable {
    case stored
    /// There is no file.
    case blank
  }

  enum Admission: Sendable {
    case admitted
    /// As many databases are open as may be.
    case full
    case shutDown
  }

  private struct Opening {
    var waiters: [WaiterID: Waiter]
    /// True if it counts against the limit: its file was found, or it has just been closed.
    var isCounted: Bool
  }

  private struct Blank {
    /// Calls and streams hold the database while they last.
    weak var database: Database?
    /// A commit that is on its way may hold the storage alone.
    weak var storage: AnyObject?
    /// Makes a database of the storage, if that still exists.
    let revive: @Sendable () -> Database?
    /// True while its first commit moves it to its place.
    var isSettling = false

    var isGone: Bool { database == nil && storage == nil }
  }

  private final class Open {
    var database: Database
    /// When a call asked for it last, by ``ServerClock/elapsedMicroseconds``.
    var lastUse: Int64

    init(_ database: Database, lastUse: Int64) {
      (self.database, self.lastUse) = (database, lastUse)
    }
  }

  private enum Entry {
    case opening(Opening)
    case blank(Blank)
    case open(Open)
    case closing([WaiterID: Waiter])

    var isCounted: Bool {
      switch self {
      case .opening(let opening): opening.isCounted
      case .blank(let blank): blank.isSettling
      case .open, .closing: true
      }
    }

    var isBlank: Bool { if case .blank = self { true } else { false } }
  }

  private var entries: [DatabaseID: Entry] = [:]
  /// The blank databases that were opened last, oldest first. They are kept because a client may go on, for example with a transaction
  /// that it has begun.
  private var latestBlanks: [Database] = []
  /// The databases that count against the limit: those with a file that is open, or is about to be.
  private(set) var count = 0
  private var blankCount = 0
  /// Blank databases that are gone are looked for at this number of them, so that it costs little for each.
  private var blanksAtPurge: Int
  private(set) var isShutDown = false
  private let limit: Int
  private let maximumBlanks: Int

  /// A blank database takes about 320 KB.
  private static var keptBlanks: Int { 64 }

  /// - Parameter limit: The databases that may be open. The same number of blank ones, and the kept ones, may be in use in addition.
  init(limit: Int) {
    self.limit = limit
    maximumBlanks = min(limit, .max - Self.keptBlanks) + Self.keptBlanks
    blanksAtPurge = min(2 * Self.keptBlanks, maximumBlanks)
  }

  /// True if nothing is open, and nothing is being opened or closed.
  var isEmpty: Bool { entries.isEmpty }

  /// The databases that are open or blank.
  var databases: [Database] {
    entries.values.compactMap { entry in
      switch entry {
      case .open(let open): open.database
      case .blank(let blank): blank.database
      case .opening, .closing: nil
      }
    }
  }

  /// The databases with a commit that are open.
  var settled: [DatabaseID] {
    entries.compactMap { id, entry in if case .open = entry { id } else { nil } }
  }

  // MARK: - Calls

  /// The database if it is open or blank, noted as used.
  mutating func use(_ id: DatabaseID, at time: Int64) -> Database? {
    switch entries[id] {
    case .open(let open)?:
      open.lastUse = time
      return open.database
    case .blank(var blank)?:
      if let database = blank.database { return database }
      guard let revived = blank.revive() else { return nil }
      blank.database = revived
      entries[id] = .blank(blank)
      return revived
    case .opening?, .closing?, nil: return nil
    }
  }

  /// A call needs a database, and waits for it until it is resumed.
  ///
  /// - Parameter number: Names the call for ``cancel(_:waitingFor:)``.
  mutating func ask(_ id: DatabaseID, _ number: WaiterID, _ waiter: Waiter, at time: Int64) -> [Action] {
    defer { assertInvariants() }
    guard !isShutDown else { return [.resume([waiter], .failure(.shuttingDown))] }
    if let database = use(id, at: time) { return [.resume([waiter], .success(database))] }
    switch entries[id] {
    case .opening(var opening)?:
      opening.waiters[number] = waiter
      entries[id] = .opening(opening)
      return []
    case .closing(var waiters)?:
      waiters[number] = waiter
      entries[id] = .closing(waiters)
      return []
    case .blank?, .open?, nil:
      put(.opening(Opening(waiters: [number: waiter], isCounted: false)), for: id)
      return [.open(id)]
    }
  }

  /// - Returns: The call if it still waited. It waits no longer; the database is opened all the same.
  mutating func cancel(_ number: WaiterID, waitingFor id: DatabaseID) -> Waiter? {
    defer { assertInvariants() }
    switch entries[id] {
    case .opening(var opening)?:
      defer { entries[id] = .opening(opening) }
      return opening.waiters.removeValue(forKey: number)
    case .closing(var waiters)?:
      defer { entries[id] = .closing(waiters) }
      return waiters.removeValue(forKey: number)
    case .blank?, .open?, nil: return nil
    }
  }

  // MARK: - Opening

  /// Asks for the room of a database that is being opened, once it is known if it has a file.
  mutating func admit(_ id: DatabaseID, _ kind: Kind) -> Admission {
    defer { assertInvariants() }
    guard !isShutDown else { return .shutDown }
    var opening = opening(id)
    switch kind {
    case .stored:
      guard opening.isCounted || count < limit else { return .full }
      opening.isCounted = true
    case .blank:
      if blankCount >= blanksAtPurge { purgeBlanks() }
      guard blankCount < maximumBlanks else { return .full }
      opening.isCounted = false
    }
    put(.opening(opening), for: id)
    return .admitted
  }

  /// A database that has a file is open.
  mutating func opened(_ id: DatabaseID, _ database: Database, at time: Int64) -> [Action] {
    defer { assertInvariants() }
    let opening = opening(id)
    assert(opening.isCounted || isShutDown, "\(id) has been opened without room for it")
    guard !isShutDown else { return closeLate(id, database) }
    put(.open(Open(database, lastUse: time)), for: id)
    return [.resume(Array(opening.waiters.values), .success(database))]
  }

  /// A database that has no file is there, in memory.
  ///
  /// - Parameters:
  ///   - storage: Held by what works on it.
  ///   - revive: Makes another database of `storage`, if that still exists.
  mutating func openedBlank(
    _ id: DatabaseID, _ database: Database, storage: AnyObject, revive: @escaping @Sendable () -> Database?
  ) -> [Action] {
    defer { assertInvariants() }
    let opening = opening(id)
    guard !isShutDown else { return closeLate(id, database) }
    put(.blank(Blank(database: database, storage: storage, revive: revive)), for: id)
    var actions: [Action] = [.resume(Array(opening.waiters.values), .success(database))]
    latestBlanks.append(database)
    if latestBlanks.count > Self.keptBlanks { actions.append(.release(latestBlanks.removeFirst())) }
    return actions
  }

  /// A database cannot be opened. All calls that wait for it fail, and the next one tries again.
  mutating func failed(_ id: DatabaseID, _ error: StatusError) -> [Action] {
    defer { assertInvariants() }
    let opening = opening(id)
    put(nil, for: id)
    return [.resume(Array(opening.waiters.values), .failure(error))]
  }

  private func opening(_ id: DatabaseID) -> Opening {
    guard case .opening(let opening)? = entries[id] else {
      assertionFailure("\(id) is not being opened but \(state(of: id))")
      return Opening(waiters: [:], isCounted: false)
    }
    return opening
  }

  /// A database that has come after the end is closed again.
  private mutating func closeLate(_ id: DatabaseID, _ database: Database) -> [Action] {
    put(.closing([:]), for: id)
    return [.close(database)]
  }

  // MARK: - First commits

  /// A blank database is about to move to its place.
  mutating func beginSettling(_ id: DatabaseID) -> Admission {
    defer { assertInvariants() }
    // Writes that wait for their commit when the server ends are committed.
    guard !isShutDown else { return .admitted }
    guard case .blank(var blank)? = entries[id] else {
      assertionFailure("\(id) has a first commit but is \(state(of: id))")
      return .shutDown
    }
    guard blank.isSettling || count < limit else { return .full }
    blank.isSettling = true
    put(.blank(blank), for: id)
    return .admitted
  }

  /// The move has failed; the database is blank as before.
  mutating func undoSettling(_ id: DatabaseID) {
    defer { assertInvariants() }
    guard case .blank(var blank)? = entries[id] else { return }
    blank.isSettling = false
    put(.blank(blank), for: id)
  }

  /// The first commit of a blank database is durable.
  mutating func settled(_ id: DatabaseID, at time: Int64) {
    defer { assertInvariants() }
    guard case .blank(let blank)? = entries[id], let database = blank.database ?? blank.revive() else {
      return assert(isShutDown, "\(id) has moved to its place but is \(state(of: id))")
    }
    assert(blank.isSettling, "\(id) has moved to its place without room for it")
    put(.open(Open(database, lastUse: time)), for: id)
    latestBlanks.removeAll { $0 === database }
  }

  // MARK: - Closing

  /// The open databases for which no call has asked since a time, those first that were unused for longest.
  func unused(since time: Int64) -> [DatabaseID] {
    let unused = entries.compactMap { id, entry -> (id: DatabaseID, lastUse: Int64)? in
      if case .open(let open) = entry, open.lastUse < time { (id, open.lastUse) } else { nil }
    }
    return unused.sorted { $0.lastUse < $1.lastUse }.map(\.id)
  }

  /// An open database for which no call has asked since a time.
  func unusedDatabase(_ id: DatabaseID, since time: Int64) -> Database? {
    if case .open(let open)? = entries[id], open.lastUse < time { open.database } else { nil }
  }

  /// Begins to close a database if no call has asked for it since a time, and none has it. ``closed(_:)`` or ``keep(_:_:at:)`` follows.
  mutating func beginClosing(_ id: DatabaseID, unusedSince time: Int64) -> Database? {
    defer { assertInvariants() }
    guard !isShutDown, case .open(let open)? = entries[id], open.lastUse < time,
      // Calls and streams hold the database while they last.
      isKnownUniquelyReferenced(&open.database)
    else { return nil }
    put(.closing([:]), for: id)
    return open.database
  }

  /// A database that was about to be closed is still needed.
  mutating func keep(_ id: DatabaseID, _ database: Database, at time: Int64) -> [Action] {
    defer { assertInvariants() }
    guard case .closing(let waiters)? = entries[id] else {
      assertionFailure("\(id) is kept but \(state(of: id))")
      return []
    }
    guard !isShutDown else { return [.close(database)] }
    put(.open(Open(database, lastUse: time)), for: id)
    return [.resume(Array(waiters.values), .success(database))]
  }

  /// The storage of a database is closed. Calls that came in the meantime open it again.
  mutating func closed(_ id: DatabaseID) -> [Action] {
    defer { assertInvariants() }
    guard case .closing(let waiters)? = entries[id] else {
      assertionFailure("\(id) has been closed but is \(state(of: id))")
      return []
    }
    guard !waiters.isEmpty else {
      put(nil, for: id)
      return []
    }
    put(.opening(Opening(waiters: waiters, isCounted: true)), for: id)
    return [.open(id)]
  }

  /// Ends everything: calls that wait fail, and so do later ones. The table is empty when every open database, and every one being opened,
  /// is closed.
  ///
  /// - Returns: Also the databases to close; ``closed(_:)`` follows for each.
  mutating func shutDown() -> (actions: [Action], open: [Database]) {
    defer { assertInvariants() }
    isShutDown = true
    var actions = latestBlanks.map { Action.release($0) }
    latestBlanks = []
    var open: [Database] = []
    for (id, entry) in entries {
      switch entry {
      case .opening(let opening):
        actions.append(.resume(Array(opening.waiters.values), .failure(.shuttingDown)))
        put(.opening(Opening(waiters: [:], isCounted: opening.isCounted)), for: id)
      case .closing(let waiters):
        actions.append(.resume(Array(waiters.values), .failure(.shuttingDown)))
        put(.closing([:]), for: id)
      case .open(let known):
        open.append(known.database)
        put(.closing([:]), for: id)
      case .blank(let blank):
        let database = blank.database ?? blank.revive()
        if let database { open.append(database) }
        put(database.map { _ in .closing([:]) }, for: id)
      }
    }
    return (actions, open)
  }

  // MARK: - Entries

  private mutating func put(_ entry: Entry?, for id: DatabaseID) {
    let previous = entries[id]
    entries[id] = entry
    count += (entry?.isCounted == true ? 1 : 0) - (previous?.isCounted == true ? 1 : 0)
    blankCount += (entry?.isBlank == true ? 1 : 0) - (previous?.isBlank == true ? 1 : 0)
  }

  /// Forgets the blank databases that nothing uses.
  private mutating func purgeBlanks() {
    for (id, entry) in entries {
      if case .blank(let blank) = entry, blank.isGone { put(nil, for: id) }
    }
    blanksAtPurge = min(max(2 * blankCount, 2 * Self.keptBlanks), maximumBlanks)
  }

  private func state(of id: DatabaseID) -> String {
    switch entries[id] {
    case .opening?: "being opened"
    case .blank?: "blank"
    case .open?: "open"
    case .closing?: "being closed"
    case nil: "unknown"
    }
  }

  private func assertInvariants() {
    assert(count == entries.values.count { $0.isCounted }, "\(count) databases are counted wrongly")
    assert(blankCount == entries.values.count { $0.isBlank }, "\(blankCount) blank databases are counted wrongly")
    assert(count <= limit || isShutDown, "\(count) databases are open, more than \(limit)")
    assert(latestBlanks.count <= Self.keptBlanks, "\(latestBlanks.count) blank databases are kept")
    assert(
      !isShutDown
        || entries.values.allSatisfy { entry in
          switch entry {
          case .opening(let opening): opening.waiters.isEmpty
          case .closing(let waiters): waiters.isEmpty
          case .blank, .open: false
          }
        }, "calls wait, or databases are open, after the end")
  }
}
