internal import HearthModel

/// Which transactions have locked which documents and queried ranges, and who waits for them.
///
/// | | waits for |
/// |---|---|
/// | a read of a transaction | writes that wait or are tried, came before it, and change what it reads |
/// | a write, of a transaction or not | the transactions that have read what it changes; writes of the same documents that came before it and wait |
///
/// So requests are served in the order in which they came. A transaction overtakes those that wait for itself: they could not go on before it.
/// A circle of waiting ones is found when its last part begins to wait, and its youngest transaction is aborted.
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
    /// The transaction was aborted, or has ended meanwhile.
    case aborted(TicketID)
  }

  /// The answer to a request.
  struct Answer: Equatable {
    /// Nil if the request may go on at once. Else the ticket with which it waits, which one of `events` may already be about.
    var ticket: TicketID?
    /// The transaction has lost its locks.
    var isAborted = false
    var events: [Event] = []
  }

  private enum Wish {
    case read([DocumentKey], Query?)
    case write([DocumentTransition])
  }

  private enum Node: Hashable {
    case owner(Owner)
    case ticket(TicketID)
  }

  private struct Ticket {
    /// Nil for a write outside of transactions.
    let owner: Owner?
    var wish: Wish
    let since: Int64
    /// Empty for a write that may be tried.
    var blockers: Set<Node>
  }

  private struct Holding {
    var keys: Set<DocumentKey> = []
    var queries: [Query] = []
  }

  private var holdings: [Owner: Holding] = [:]
  private var keyHolders: [DocumentKey: [Owner]] = [:]
  /// Queried ranges by the id of their collections; "" for queries of all collections.
  private var ranges: [String: [(owner: Owner, query: Query)]] = [:]

  private var lastTicket: TicketID = 0
  private var tickets: [TicketID: Ticket] = [:]
  /// The tickets in the order of their numbers.
  private var order: [TicketID] = []
  private var ticketsOfOwner: [Owner: [TicketID]] = [:]
  /// Tickets of writes by the documents that they change, in the order of their numbers.
  private var writers: [DocumentKey: [TicketID]] = [:]

  /// True if nobody holds a lock or waits.
  var isEmpty: Bool { holdings.isEmpty && tickets.isEmpty }
  var ticketCount: Int { tickets.count }

  // MARK: - Requests

  /// Locks documents, missing ones too, and a queried range for a transaction.
  mutating func read(_ keys: [DocumentKey], _ query: Query?, by owner: Owner, at now: Int64) -> Answer {
    let wish = Wish.read(keys, query)
    let blockers = blockers(of: wish, owner, ticket: lastTicket + 1)
    guard blockers.isEmpty else { return wait(wish, owner, blockers, nil, at: now) }
    lock(keys, query, for: owner)
    return Answer()
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
    return wait(wish, owner, blockers, ticket, at: now)
  }

  private mutating func wait(
    _ wish: Wish, _ owner: Owner?, _ blockers: Set<Node>, _ known: TicketID?, at now: Int64
  ) -> Answer {
    let id: TicketID
    if let known, let ticket = tickets[known] {
      id = known
      forgetWriter(id, ticket)
      tickets[id]?.wish = wish
      tickets[id]?.blockers = blockers
    } else {
      lastTicket += 1
      id = lastTicket
      tickets[id] = Ticket(owner: owner, wish: wish, since: now, blockers: blockers)
      order.append(id)
      if let owner { ticketsOfOwner[owner, default: []].append(id) }
    }
    if case .write(let transitions) = wish {
      for transition in transitions {
        var ids = writers[transition.key] ?? []
        ids.insert(id, at: ids.firstIndex { $0 > id } ?? ids.endIndex)
        writers[transition.key] = ids
      }
    }
    return Answer(ticket: id, events: breakCircles(through: id))
  }

  /// Takes away the ticket of a request that has ended or was given up.
  mutating func finish(_ id: TicketID) -> [Event] {
    guard remove(id) else { return [] }
    return proceed(without: [.ticket(id)])
  }

  /// Ends a transaction: its locks and tickets go.
  mutating func release(_ owner: Owner) -> [Event] {
    guard holdings[owner] != nil || ticketsOfOwner[owner] != nil else { return [] }
    let (events, removed) = remove(owner)
    return events + proceed(without: removed)
  }

  /// The requests that have waited since before a time.
  func tickets(waitingSinceBefore time: Int64) -> [TicketID] {
    order.filter { id in tickets[id].map { $0.since < time && !$0.blockers.isEmpty } ?? false }
  }

  func isWaiting(_ id: TicketID) -> Bool { tickets[id]?.blockers.isEmpty == false }

  // MARK: - Locks

  private mutating func lock(_ keys: [DocumentKey], _ query: Query?, for owner: Owner) {
    var holding = holdings.removeValue(forKey: owner) ?? Holding()
    for key in keys where holding.keys.insert(key).inserted { keyHolders[key, default: []].append(owner) }
    if let query, !holding.queries.contains(query) {
      holding.queries.append(query)
      ranges[Self.collectionID(of: query), default: []].append((owner, query))
    }
    holdings[owner] = holding
  }

  private static func collectionID(of query: Query) -> String {
    if let group = query.collectionGroup { return group }
    return query.documentKey?.collectionGroup ?? query.path.last ?? ""
  }

  private mutating func unlock(_ owner: Owner) {
    guard let holding = holdings.removeValue(forKey: owner) else { return }
    for key in holding.keys {
      keyHolders[key]?.removeAll { $0 == owner }
      if keyHolders[key]?.isEmpty == true { keyHolders[key] = nil }
    }
    for id in Set(holding.queries.map(Self.collectionID)) {
      ranges[id]?.removeAll { $0.owner == owner }
      if ranges[id]?.isEmpty == true { ranges[id] = nil }
    }
  }

  private mutating func forgetWriter(_ id: TicketID, _ ticket: Ticket) {
    guard case .write(let transitions) = ticket.wish else { return }
    for transition in transitions {
      writers[transition.key]?.removeAll { $0 == id }
      if writers[transition.key]?.isEmpty == true { writers[transition.key] = nil }
    }
  }

  private mutating func remove(_ id: TicketID) -> Bool {
    guard let ticket = tickets.removeValue(forKey: id) else { return false }
    forgetWriter(id, ticket)
    order.removeAll { $0 == id }
    if let owner = ticket.owner {
      ticketsOfOwner[owner]?.removeAll { $0 == id }
      if ticketsOfOwner[owner]?.isEmpty == true { ticketsOfOwner[owner] = nil }
    }
    return true
  }

  private mutating func remove(_ owner: Owner) -> (events: [Event], removed: Set<Node>) {
    unlock(owner)
    var (events, removed): ([Event], Set<Node>) = ([], [.owner(owner)])
    for id in ticketsOfOwner[owner] ?? [] where remove(id) {
      events.append(.aborted(id))
      removed.insert(.ticket(id))
    }
    return (events, removed)
  }
}

// MARK: - Waiting

extension LockTable {
  /// - Parameter id: Of the request; later ones do not stop it.
  private func blockers(of wish: Wish, _ owner: Owner?, ticket id: TicketID) -> Set<Node> {
    var blockers: Set<Node> = []
    switch wish {
    case .read(let keys, let query):
      for key in keys {
        let writer = writers[key]?.last { $0 < id && !isOvertaken($0, by: owner) }
        if let writer { blockers.insert(.ticket(writer)) }
      }
      guard let query else { break }
      for writer in order where writer < id && !isOvertaken(writer, by: owner) {
        guard case .write(let transitions)? = tickets[writer]?.wish else { continue }
        if transitions.contains(where: { $0.concerns(query) }) { blockers.insert(.ticket(writer)) }
      }
    case .write(let transitions):
      for transition in transitions {
        for holder in keyHolders[transition.key] ?? [] where holder != owner { blockers.insert(.owner(holder)) }
        for id in [transition.key.collectionGroup, ""] {
          for (holder, query) in ranges[id] ?? [] where holder != owner && transition.concerns(query) {
            blockers.insert(.owner(holder))
          }
        }
        let writer = writers[transition.key]?.last { $0 < id && isWaiting($0) && !isOvertaken($0, by: owner) }
        if let writer { blockers.insert(.ticket(writer)) }
      }
    }
    return blockers
  }

  /// True for a ticket of the transaction itself, or one that waits for its locks.
  private func isOvertaken(_ id: TicketID, by owner: Owner?) -> Bool {
    guard let owner, let ticket = tickets[id] else { return false }
    return ticket.owner == owner || ticket.blockers.contains(.owner(owner))
  }

  /// Lets those go on who have waited for what is gone.
  private mutating func proceed(without gone: Set<Node>) -> [Event] {
    var gone = gone
    var events: [Event] = []
    var stillBlocked: [TicketID] = []
    for id in order {
      guard let ticket = tickets[id], !ticket.blockers.isDisjoint(with: gone) else { continue }
      let blockers = blockers(of: ticket.wish, ticket.owner, ticket: id)
      guard blockers.isEmpty else {
        tickets[id]?.blockers = blockers
        if !blockers.isSubset(of: ticket.blockers) { stillBlocked.append(id) }
        continue
      }
      switch ticket.wish {
      case .read(let keys, let query):
        _ = remove(id)
        if let owner = ticket.owner { lock(keys, query, for: owner) }
        events.append(.granted(id))
      case .write:
        tickets[id]?.blockers = []
        // Writes of the same documents may be tried in its wake.
        gone.insert(.ticket(id))
        events.append(.ready(id))
      }
    }
    for id in stillBlocked { events += breakCircles(through: id) }
    return events
  }

  // MARK: Deadlocks

  /// Aborts the youngest transaction of every circle of waiting requests that a ticket is part of.
  private mutating func breakCircles(through id: TicketID) -> [Event] {
    var events: [Event] = []
    while let victim = circle(through: id)?.max() {
      let (aborted, removed) = remove(victim)
      events += aborted + proceed(without: removed)
    }
    return events
  }

  /// The transactions of a circle of requests that wait for each other.
  private func circle(through id: TicketID) -> [Owner]? {
    guard let start = tickets[id] else { return nil }
    var ways: [Node: Node] = [:]
    var open = [Node.ticket(id)]
    while let node = open.popLast() {
      let next: any Sequence<Node> =
        switch node {
        case .ticket(let id): tickets[id]?.blockers ?? []
        case .owner(let owner): (ticketsOfOwner[owner] ?? []).map(Node.ticket)
        }
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

  private func owners(on ways: [Node: Node], to end: Node) -> [Owner] {
    var (owners, node): ([Owner], Node?) = ([], end)
    while let current = node {
      if case .owner(let owner) = current { owners.append(owner) }
      node = ways[current]
    }
    return owners
  }
}

extension DocumentTransition {
  /// Returns true if the document is or was in a queried range.
  fileprivate func concerns(_ query: Query) -> Bool {
    query.matches(before) || query.matches(after)
  }
}
