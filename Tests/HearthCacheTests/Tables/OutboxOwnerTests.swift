import HearthModel
import HearthStore
import Testing

@testable import HearthCache

@Suite("The identities that outboxes belong to")
struct OutboxOwnerTests {
  private static let others: [OutboxOwner] = [
    .nobody, .serviceAccount("a@b.iam.gserviceaccount.com"), .serviceAccount(""), .emulatorOwner,
    .application("Tokens"), .application(""), .application("emulator:owner"), .application("\u{1}=a"),
  ]

  /// Ordinary ids, and those that look like what stands for others.
  private static let users: [OutboxOwner] =
    (["alice", "a", "=", "=a", ":", "x:y", "\u{1}", "\u{301}", "\u{0}", String(repeating: "x", count: 128)]
    + others.flatMap { [$0.key, $0.name ?? "-", "\u{1}" + ($0.name ?? "")] }).filter { !$0.isEmpty }
    .map { OutboxOwner.user($0) }

  @Test("no user id is the name or the key of another kind of identity, whatever its characters")
  func distinct() {
    var known: [OutboxOwner] = []
    for owner in Self.others + Self.users where !known.contains(owner) { known.append(owner) }
    #expect(Set(known.map(\.name)).count == known.count)
    #expect(Set(known.map(\.key)).count == known.count)
    for owner in known {
      #expect(OutboxOwner(name: owner.name) == owner)
      #expect(OutboxOwner(key: owner.key) == owner)
      #expect(MutationQueue.userKey(owner.name) == owner.key)
    }
  }

  @Test("keys of all kinds are recognised by the program and in SQL, others by neither")
  func keys() throws {
    let database = try Database(.memory)
    defer { database.close() }
    let keys = (Self.others + Self.users).map(\.key) + ["later-kind:x", "later:"]
    let texts = ["alice", ":", ":x", "A:x", "a b:x", "1:x", "\u{1}:", "é:x", " "]
    for text in keys + texts {
      let isNoKey = try database.firstRow("SELECT \(OutboxOwner.isNoKey) FROM (SELECT ? AS user_key)", .text(text)) {
        try $0.int64(at: 0) != 0
      }
      #expect(OutboxOwner.isKey(text) == keys.contains(text), "\(text)")
      #expect(isNoKey == !keys.contains(text), "\(text)")
    }
  }

  @Test("each identity has an outbox of its own, also after a restart and in what is saved from a damaged file")
  func outboxes() throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    let owners: [OutboxOwner] = [
      .nobody, .user("alice"), .user("\u{1}emulator:owner"), .user("emulator:owner"), .serviceAccount("a@b"),
      .emulatorOwner, .application("Tokens"),
    ]
    for (number, owner) in owners.enumerated() {
      _ = try cache.store.changeUser(owner.name)
      try cache.store.write(.set(key("rooms/\(number)"), [:]))
    }
    try cache.restart()
    for (number, owner) in owners.enumerated() {
      _ = try cache.store.changeUser(owner.name)
      #expect(try cache.store.pendingBatches().map(\.keys) == [[key("rooms/\(number)")]])
    }
    let saved = SalvagedOutbox(reading: cache.folder.file("cache.sqlite"), databaseID: TestCache.databaseID)
    #expect(saved.batches.map(\.userKey) == owners.map(\.key))
  }

  @Test("words say whose an outbox is; what is no user id stands in parentheses")
  func words() {
    let owners: [OutboxOwner] = [
      .nobody, .user("alice"), .serviceAccount("a@b"), .emulatorOwner, .application("Tokens"),
    ]
    #expect(
      owners.map(\.inWords)
        == ["(signed out)", "alice", "(service account a@b)", "(emulator owner)", "(credentials Tokens)"])
  }
}
