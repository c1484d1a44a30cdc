internal import HearthModel

/// The locks of transactions on documents and queried ranges, and the requests that wait for them.
///
/// | | waits for |
/// |---|---|
/// | a read of a transaction | earlier writes, waiting or in progress, that change what it reads |
/// | a write, of a transaction or not | the transactions that have read what it changes; earlier waiting writes of the same documents |
///
/// So requests are served in the order of their arrival. A transaction overtakes the requests that wait for itself: they could not go on
/// before it. A deadlock is found when its last request begins to wait, and its youngest transaction is aborted.
///
/// A value without clock or threads; ``TransactionLocks`` lets the calls wait.
struct LockTable {
  /// A transaction. The smaller one is the older.
  struct Owner: Hashable, Comparable, Sendable {
    /// The number of the first transaction that this one repeats, or its own.
    var seniority: UInt64
    var number: UInt64

    static func < (a: Owner, b: Owner) -> Bool { (a.seniority, a.number) < (b.seniority, b.number) }
  }

  /// Tickets are numbered in the order in which requests came.
  typealias TicketID = UInt64

  enum Event: Equatable {
    /// A read has its locks.
    case granted(TicketID)
    /// A write may be tried again.
    case ready(TicketID)
    /// The transaction was aborted, or has ended in between.
    case aborted(TicketID)
  }

  /// The answer to a request.
  struct Answer: Equatable {
    /// Nil if the request may go on at once. Else the ticket with which it waits, which one of `events` may already be about.
    var ticket: TicketID?
    /// The transaction has lost its locks.
    var isAborted = false
    /// The request may not even wait: as many writes as are allowed wait for this document.
    var crowded: DocumentKey?
    var events: [Event] = []
  }

  private enum Wish {
    case read([DocumentKey], Query?)
    case write([DocumentTransition])
  }

  /// The lock or write that a request waits for.
  private enum Blocker: Hashable {
    /// Everybody else who has locked a document.
    case key(DocumentKey)
    /// Everybody else who has locked a queried range.
    case range(Query)
    /// A write that came before.
    case ticket(TicketID)
  }

  private struct Ticket {
    /// Nil for a write outside of transactions.
    let owner: Owner?
    var wish: Wish
    let since: Int64
    /// Empty for a write that may be tried.
    var blockers: Set<Blocker> = []
  }

  private struct Holding {
    var keys: Set<DocumentKey> = []
    var queries: Set<Query> = []
  }

  /// The writes that may wait for one document.
  private let maximumWriters: Int
  private var holdings: [Owner: Holding] = [:]
  private var keyHolders: [DocumentKey: Set<Owner>] = [:]
  /// Queried ranges by the id of their collections; "" for queries of all collections.
  private var ranges: [String: [Query: Set<Owner>]] = [:]
  /// Transactions that were aborted and that nobody has ended yet. They lock nothing any more.
  private var broken: Set<Owner> = []

  private var lastTicket: TicketID = 0
  private var tickets: [TicketID: Ticket] = [:]
  private var ticketsOfOwner: [Owner: Set<TicketID>] = [:]
  /// Tickets of writes by the documents that they change, in the order of their numbers.
  private var writers: [DocumentKey: [TicketID]] = [:]
  /// Tickets of writes by the ids of the collections that they change; all under "".
  private var writersOfCollection: [String: Set<TicketID>] = [:]
  /// The other direction of the tickets' blockers.
  private var waiters: [Blocker: Set<TicketID>] = [:]
  /// The requests, transactions and blockers that were looked at so far in search of deadlocks and of overtaken requests.
  private(set) var searchSteps = 0

  init(maximumWriters: Int = DatabaseLimits().waitingWritesPerDocument) {
    self.maximumWriters = maximumWriters
  }

  /// True if nobody holds a lock or waits.
  var isEmpty: Bool { holdings.isEmpty && tickets.isEmpty && broken.isEmpty }
  var ticketCount: Int { tickets.count }
  /// The number of writes that wait for the document for which most do.
  var greatestWriterCount: Int { writers.values.map(\.count).max() ?? 0 }

  // MARK: - Requests

  /// Locks documents, missing ones too, and a queried range for a transaction.
  mutating func read(_ keys: [DocumentKey], _ query: Query?, by owner: Owner, at now: Int64) -> Answer {
    guard !broken.contains(owner) else { return Answer(isAborted: true) }
    let wish = Wish.read(keys, query)
    let blockers = blockers(of: wish, owner, ticket: lastTicket + 1)
    guard blockers.isEmpty else { return wait(wish, owner, blockers, nil, at: now) }
    let changed = lock(keys, query, for: owner)
    return Answer(events: breakCycles(through: changed))
  }

  /// Asks if a write may change documents now.
  ///
  /// - Parameters:
  ///   - owner: A transaction that has read something.
  ///   - ticket: With which the write has waited before. It stays, also if the write may go on: ``finish(_:)`` takes it away.
  mutating func write(
    _ transitions: [DocumentTransition], by owner: Owner?, ticket: TicketID?, at now: Int64
  ) -> Answer {
    if let owner, holdings[owner] == nil { return Answer(isAborted: true) }
    guard !isEmpty else { return Answer() }
    let wish = Wish.write(transitions)
    let blockers = blockers(of: wish, owner, ticket: ticket ?? lastTicket + 1)
    guard !blockers.isEmpty else { return Answer() }
    if ticket.map({ tickets[$0] == nil }) ?? true,
      let crowded = transitions.first(where: { writers[$0.key]?.count ?? 0 >= maximumWriters })
    {
      return Answer(crowded: crowded.key)
    }
    return wait(wish, owner, blockers, ticket, at: now)
  }

  private mutating func wait(
    _ wish: Wish, _ owner: Owner?, _ blockers: Set<Blocker>, _ known: TicketID?, at now: Int64
  ) -> Answer {
    let id: TicketID
    if let known, let ticket = tickets[known] {
      id = known
      forgetWriter(id, ticket)
      tickets[id]?.wish = wish
    } else {
      lastTicket += 1
      id = lastTicket
      tickets[id] = Ticket(owner: owner, wish: wish, since: now)
      if let owner { ticketsOfOwner[owner, default: []].insert(id) }
    }
    setBlockers(blockers, of: id)
    if case .write(let transitions) = wish { noteWriter(id, transitions) }
    return Answer(ticket: id, events: breakCycles(through: [id]))
  }

  /// Takes away the ticket of a request that has ended or was given up.
  mutating func finish(_ id: TicketID) -> [Event] {
    guard remove(id) else { return [] }
    return proceed(without: [.ticket(id)])
  }

  /// Ends a transaction: its locks and tickets go.
  mutating func release(_ owner: Owner) -> [Event] {
    broken.remove(owner)
    guard holdings[owner] != nil || ticketsOfOwner[owner] != nil else { return [] }
    let (events, removed) = remove(owner)
    return events + proceed(without: removed)
  }

  /// Aborts all transactions that have locks or wait. Writes from outside of transactions may then be tried, in their order.
  mutating func abortAll() -> [Event] {
    var next = LockTable(maximumWriters: maximumWriters)
    next.broken = broken.union(holdings.keys).union(ticketsOfOwner.keys)
    next.lastTicket = lastTicket
    next.searchSteps = searchSteps
    var events: [Event] = []
    for (id, ticket) in tickets.sorted(by: { $0.key < $1.key }) {
      guard ticket.owner == nil, case .write(let transitions) = ticket.wish else {
        events.append(.aborted(id))
        continue
      }
      if !ticket.blockers.isEmpty { events.append(.ready(id)) }
      next.tickets[id] = Ticket(owner: nil, wish: ticket.wish, since: ticket.since)
      next.noteWriter(id, transitions)
    }
    self = next
    return events
  }

  /// The requests that have waited since before a time.
  func tickets(waitingSinceBefore time: Int64) -> [TicketID] {
    tickets.filter { $0.value.since < time && !$0.value.blockers.isEmpty }.keys.sorted()
  }

  func isWaiting(_ id: TicketID) -> Bool { tickets[id]?.blockers.isEmpty == false }

  // MARK: - Locks

  /// - Returns: The requests of the transaction that wait, if writes of others wait for it that did not before: a transaction that reads
  ///   several things at the same time can then be part of a deadlock.
  private mutating func lock(_ keys: [DocumentKey], _ query: Query?, for owner: Owner) -> [TicketID] {
    var isInTheWay = false
    var holding = holdings.removeValue(forKey: owner) ?? Holding()
    for key in keys where holding.keys.insert(key).inserted {
      keyHolders[key, default: []].insert(owner)
      for id in writers[key] ?? [] where add(.key(key), to: id, unlessOf: owner) { isInTheWay = true }
    }
    if let query, holding.queries.insert(query).inserted {
      let collection = query.changingCollectionID
      ranges[collection, default: [:]][query, default: []].insert(owner)
      for id in writersOfCollection[collection] ?? [] where concerns(id, query) {
        if add(.range(query), to: id, unlessOf: owner) { isInTheWay = true }
      }
    }
    holdings[owner] = holding
    return isInTheWay ? (ticketsOfOwner[owner] ?? []).sorted() : []
  }

  /// Lets a write that waits anyway wait for a further holder of a lock, perhaps one that others hold, too.
  private mutating func add(_ blocker: Blocker, to id: TicketID, unlessOf owner: Owner) -> Bool {
    guard let ticket = tickets[id], ticket.owner != owner, !ticket.blockers.isEmpty else { return false }
    if !ticket.blockers.contains(blocker) { setBlockers(ticket.blockers.union([blocker]), of: id) }
    return true
  }

  private func concerns(_ id: TicketID, _ query: Query) -> Bool {
    guard case .write(let transitions)? = tickets[id]?.wish else { return false }
    return transitions.contains { $0.concerns(query) }
  }

  /// - Returns: The locks that at most one transaction holds now.
  private mutating func unlock(_ owner: Owner) -> Set<Blocker> {
    guard let holding = holdings.removeValue(forKey: owner) else { return [] }
    var freed: Set<Blocker> = []
    for key in holding.keys {
      keyHolders[key]?.remove(owner)
      let count = keyHolders[key]?.count ?? 0
      if count == 0 { keyHolders[key] = nil }
      if count <= 1 { freed.insert(.key(key)) }
    }
    for query in holding.queries {
      let collection = query.changingCollectionID
      ranges[collection]?[query]?.remove(owner)
      let count = ranges[collection]?[query]?.count ?? 0
      if count == 0 { ranges[collection]?[query] = nil }
      if ranges[collection]?.isEmpty == true { ranges[collection] = nil }
      if count <= 1 { freed.insert(.range(query)) }
    }
    return freed
  }

  private mutating func setBlockers(_ blockers: Set<Blocker>, of id: TicketID) {
    let before = tickets[id]?.blockers ?? []
    for blocker in before.subtracting(blockers) {
      waiters[blocker]?.remove(id)
      if waiters[blocker]?.isEmpty == true { waiters[blocker] = nil }
    }
    for blocker in blockers.subtracting(before) { waiters[blocker, default: []].insert(id) }
    tickets[id]?.blockers = blockers
  }

  private mutating func noteWriter(_ id: TicketID, _ transitions: [DocumentTransition]) {
    for transition in transitions {
      writers[transition.key, default: []].insertSorted(id)
      for collection in transition.key.queriedCollectionIDs {
        writersOfCollection[collection, default: []].insert(id)
      }
    }
  }

  private mutating func forgetWriter(_ id: TicketID, _ ticket: Ticket) {
    guard case .write(let transitions) = ticket.wish else { return }
    for transition in transitions {
      writers[transition.key]?.removeSorted(id)
      if writers[transition.key]?.isEmpty == true { writers[transition.key] = nil }
      for collection in transition.key.queriedCollectionIDs {
        writersOfCollection[collection]?.remove(id)
        if writersOfCollection[collection]?.isEmpty == true { writersOfCollection[collection] = nil }
      }
    }
  }

  private mutating func remove(_ id: TicketID) -> Bool {
    setBlockers([], of: id)
    guard let ticket = tickets.removeValue(forKey: id) else { return false }
    forgetWriter(id, ticket)
    if let owner = ticket.owner {
      ticketsOfOwner[owner]?.remove(id)
      if ticketsOfOwner[owner]?.isEmpty == true { ticketsOfOwner[owner] = nil }
    }
    return true
  }

  private mutating func remove(_ owner: Owner) -> (events: [Event], removed: Set<Blocker>) {
    var (events, removed): ([Event], Set<Blocker>) = ([], unlock(owner))
    for id in (ticketsOfOwner[owner] ?? []).sorted() where remove(id) {
      events.append(.aborted(id))
      removed.insert(.ticket(id))
    }
    return (events, removed)
  }
}

// MARK: - Waiting

extension LockTable {
  /// - Parameter id: The ticket of the request; later ones do not stop it.
  private mutating func blockers(of wish: Wish, _ owner: Owner?, ticket id: TicketID) -> Set<Blocker> {
    var blockers: Set<Blocker> = []
    // Found once, when the first request stands in the way.
    var overtaken: Set<TicketID>?
    switch wish {
    case .read(let keys, let query):
      for key in keys {
        let writer = lastWriter(of: key, before: id, notIn: &overtaken, of: owner) { _ in true }
        if let writer { blockers.insert(.ticket(writer)) }
      }
      guard let query else { break }
      for writer in writersOfCollection[query.changingCollectionID] ?? [] where writer < id && concerns(writer, query) {
        if overtaken == nil { overtaken = requests(waitingFor: owner) }
        if overtaken?.contains(writer) != true { blockers.insert(.ticket(writer)) }
      }
    case .write(let transitions):
      for transition in transitions {
        if isHeld(keyHolders[transition.key], byOtherThan: owner) { blockers.insert(.key(transition.key)) }
        for collection in transition.key.queriedCollectionIDs {
          for (query, holders) in ranges[collection] ?? [:]
          where isHeld(holders, byOtherThan: owner) && transition.concerns(query) {
            blockers.insert(.range(query))
          }
        }
        let writer = lastWriter(of: transition.key, before: id, notIn: &overtaken, of: owner, where: isWaiting)
        if let writer { blockers.insert(.ticket(writer)) }
      }
    }
    return blockers
  }

  private func isHeld(_ holders: Set<Owner>?, byOtherThan owner: Owner?) -> Bool {
    guard let holders, let owner, holders.contains(owner) else { return holders?.isEmpty == false }
    return holders.count > 1
  }

  /// The latest write of a document that came before a request and that its transaction does not overtake.
  private mutating func lastWriter(
    of key: DocumentKey, before id: TicketID, notIn overtaken: inout Set<TicketID>?, of owner: Owner?,
    where condition: (TicketID) -> Bool
  ) -> TicketID? {
    guard let writers = writers[key] else { return nil }
    for writer in writers[..<writers.partitionIndex { $0 >= id }].reversed() where condition(writer) {
      if overtaken == nil { overtaken = requests(waitingFor: owner) }
      if overtaken?.contains(writer) != true { return writer }
    }
    return nil
  }

  /// The tickets of a transaction, and those that wait for it, be it through others. It overtakes them: they could not go on before.
  private mutating func requests(waitingFor owner: Owner?) -> Set<TicketID> {
    guard let owner else { return [] }
    var found: Set<TicketID> = []
    var owners: Set<Owner> = [owner]
    var openOwners = [owner]
    var openTickets: [TicketID] = []
    func add(_ id: TicketID) {
      if found.insert(id).inserted { openTickets.append(id) }
    }
    while true {
      searchSteps += 1
      if let id = openTickets.popLast() {
        for next in waiters[.ticket(id)] ?? [] { add(next) }
        if let other = tickets[id]?.owner, owners.insert(other).inserted { openOwners.append(other) }
      } else if let next = openOwners.popLast() {
        if next == owner { for id in ticketsOfOwner[next] ?? [] { add(id) } }
        for blocker in blockers(heldBy: next) {
          searchSteps += 1
          for id in waiters[blocker] ?? [] where tickets[id]?.owner != next { add(id) }
        }
      } else {
        return found
      }
    }
  }

  /// The locks of a transaction that a request may wait for. The search runs over the smaller set: its locks, or the awaited ones.
  private func blockers(heldBy owner: Owner) -> [Blocker] {
    guard let holding = holdings[owner] else { return [] }
    guard holding.keys.count + holding.queries.count > waiters.count else {
      return holding.keys.map(Blocker.key) + holding.queries.map(Blocker.range)
    }
    return waiters.keys.filter { blocker in
      switch blocker {
      case .key(let key): holding.keys.contains(key)
      case .range(let query): holding.queries.contains(query)
      case .ticket: false
      }
    }
  }

  /// Lets the requests go on that waited for these blockers.
  private mutating func proceed(without gone: Set<Blocker>) -> [Event] {
    var events: [Event] = []
    var changed: [TicketID] = []
    var seen: Set<TicketID> = []
    // In the order of their numbers: who waits for a write came after it.
    var open = Set(gone.flatMap { waiters[$0] ?? [] }).sorted(by: >)
    while let id = open.popLast() {
      guard seen.insert(id).inserted, let ticket = tickets[id], !ticket.blockers.isEmpty else { continue }
      let blockers = blockers(of: ticket.wish, ticket.owner, ticket: id)
      guard blockers.isEmpty else {
        if !blockers.isSubset(of: ticket.blockers) { changed.append(id) }
        setBlockers(blockers, of: id)
        continue
      }
      switch ticket.wish {
      case .read(let keys, let query):
        _ = remove(id)
        if let owner = ticket.owner { changed += lock(keys, query, for: owner) }
        events.append(.granted(id))
      case .write:
        setBlockers([], of: id)
        events.append(.ready(id))
        // Writes of the same documents may be tried in its wake.
        for next in waiters[.ticket(id)] ?? [] where !seen.contains(next) {
          open.insert(next, at: open.partitionIndex { $0 < next })
        }
      }
    }
    return events + breakCycles(through: changed)
  }

  // MARK: Deadlocks

  private enum Node: Hashable {
    case owner(Owner)
    case ticket(TicketID)
  }

  /// Aborts the youngest transaction of every deadlock that one of the tickets is part of.
  private mutating func breakCycles(through ids: [TicketID]) -> [Event] {
    var events: [Event] = []
    for id in ids {
      while let victim = cycle(through: id)?.max() {
        broken.insert(victim)
        let (aborted, removed) = remove(victim)
        events += aborted + proceed(without: removed)
      }
    }
    return events
  }

  /// The transactions of a cycle of requests that wait for each other.
  private mutating func cycle(through id: TicketID) -> [Owner]? {
    guard let start = tickets[id] else { return nil }
    // A request outside of transactions for which nobody waits is the end of every way to it.
    guard start.owner != nil || waiters[.ticket(id)] != nil else { return nil }
    var ways: [Node: Node] = [:]
    var expanded: [Blocker: Owner?] = [:]
    var open = [Node.ticket(id)]
    while let node = open.popLast() {
      let next: [Node] =
        switch node {
        case .ticket(let id): tickets[id].map { successors(of: $0, without: &expanded) } ?? []
        case .owner(let owner): (ticketsOfOwner[owner] ?? []).map(Node.ticket)
        }
      searchSteps += 1 + next.count
      for next in next {
        if next == .ticket(id) || start.owner.map({ next == .owner($0) }) ?? false {
          return owners(on: ways, to: node) + (start.owner.map { [$0] } ?? [])
        }
        guard ways[next] == nil else { continue }
        ways[next] = node
        open.append(next)
      }
    }
    return nil
  }

  /// The requests and transactions that a request waits for, less those that were found through another request.
  ///
  /// - Parameter expanded: The locks whose holders are known, each with the one that was left out because the request was its own.
  private func successors(of ticket: Ticket, without expanded: inout [Blocker: Owner?]) -> [Node] {
    var nodes: [Node] = []
    for blocker in ticket.blockers {
      if case .ticket(let id) = blocker {
        nodes.append(.ticket(id))
        continue
      }
      switch expanded[blocker] {
      case nil:
        nodes += holders(of: blocker).filter { $0 != ticket.owner }.map(Node.owner)
        expanded[blocker] = .some(ticket.owner)
      case .some(let left?) where left != ticket.owner:
        if holders(of: blocker).contains(left) { nodes.append(.owner(left)) }
        expanded[blocker] = .some(nil)
      default: break
      }
    }
    return nodes
  }

  private func holders(of blocker: Blocker) -> Set<Owner> {
    switch blocker {
    case .key(let key): keyHolders[key] ?? []
    case .range(let query): ranges[query.changingCollectionID]?[query] ?? []
    case .ticket: []
    }
  }

  private func owners(on ways: [Node: Node], to end: Node) -> [Owner] {
    var (owners, node): ([Owner], Node?) = ([], end)
    while let current = node {
      if case .owner(let owner) = current { owners.append(owner) }
      node = ways[current]
    }
    return owners
  }
}

extension [LockTable.TicketID] {
  fileprivate mutating func insertSorted(_ id: Element) {
    let index = partitionIndex { $0 >= id }
    if index == count || self[index] != id { insert(id, at: index) }
  }

  fileprivate mutating func removeSorted(_ id: Element) {
    let index = partitionIndex { $0 >= id }
    if index < count, self[index] == id { remove(at: index) }
  }
}
