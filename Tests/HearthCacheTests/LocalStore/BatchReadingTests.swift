import HearthModel
import HearthStore
import HearthWire
import TestSupport
import Testing

@testable import HearthCache

/// Documents that the backend has, has not, or never told of, under writes of two users; a third one has not written.
private struct Scene {
  static let users = ["ada", "bob", "cyd"]

  let cache: TestCache
  let keys: [DocumentKey]
  var random: SeededGenerator

  init(count: Int, seed: UInt64) throws {
    cache = try TestCache(.memory, user: Self.users[0])
    random = SeededGenerator(seed: seed)
    keys = (0..<count).map { number in
      switch number % 4 {
      case 0: key("rooms/\(number)")
      case 1: key("rooms/\(number / 50)/desks/desk \(number)")
      case 2: key("ré/\(number)")
      default: key("rooms/__id\(number)__")
      }
    }
    try receive()
    for user in Self.users.dropLast() {
      _ = try cache.store.changeUser(user)
      for _ in 0..<2 { _ = try cache.store.write(mutations(), localWriteTime: time(1)) }
    }
  }

  private mutating func fields() -> MapValue {
    let text = Bool.random(using: &random) ? "é" : "e\u{301}"
    return ["n": .integer(Int64.random(in: 0..<1000, using: &random)), "t": .string(text)]
  }

  private mutating func receive() throws {
    var event = RemoteEvent(snapshotVersion: version(5000))
    for (number, key) in keys.enumerated() {
      let read = version(Int64(number + 1))
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<6: event.documentUpdates[key] = .found(key, version: read, fields: EncodedFields(fields()))
      case 6: event.documentUpdates[key] = .missing(key, version: read)
      default: break
      }
    }
    _ = try cache.store.apply(event)
  }

  private mutating func mutations() -> [Mutation] {
    // One at least: there are no empty batches.
    var mutations: [Mutation] = [.set(keys[0], fields())]
    for key in keys.dropFirst() {
      switch Int.random(in: 0..<10, using: &random) {
      case 0: mutations.append(.set(key, fields()))
      case 1: mutations.append(.delete(key))
      case 2: mutations.append(.patch(key, fields(), mask: mask("n")))
      case 3: mutations.append(.patch(key, fields(), mask: mask("t"), precondition: .none))
      case 4:
        mutations.append(
          .patch(
            key, [:], mask: .empty, precondition: .none,
            transforms: [FieldTransform(path: field("at"), operation: .serverTimestamp)]))
      default: break
      }
    }
    return mutations
  }

  /// One document, from its row and the row of its overlay, without anything that reads several.
  func oneByOne(_ key: DocumentKey, user: Int64?) throws -> Document {
    var document = try cache.store.tables.documents.document(for: key)
    guard let user else { return document }
    let overlay = try cache.database.firstRow(
      "SELECT mutation FROM cache_overlays WHERE user_id = ? AND path = ?", .integer(user), .text(key.canonicalString)
    ) { try CacheCodec.decodeMutation(try $0.bytes(at: 0), database: TestCache.databaseID) }
    _ = try overlay?.applyToLocalView(&document, previousMask: nil, localWriteTime: time(0))
    return document
  }
}

@Suite("Reading many documents of the local view at once")
struct BatchReadingTests {
  @Test("is the same as reading one by one, for each user", arguments: [1, 7, 8, 300, 6000])
  func sameAsOneByOne(count: Int) throws {
    var scene = try Scene(count: count, seed: UInt64(count))
    defer { scene.cache.close() }
    for user in Scene.users {
      _ = try scene.cache.store.changeUser(user)
      let row = try scene.cache.store.transactions.user.row()
      let keys = scene.keys.shuffled(using: &scene.random)
      let view = try scene.cache.store.tables.localDocuments.localView(of: keys, user: row)
      let remote = try scene.cache.store.tables.localDocuments.remoteDocuments(for: Set(keys))
      let overlaid = try scene.cache.store.tables.localDocuments.overlaid(remote, user: row)
      let overlays = try scene.cache.store.tables.overlays.overlays(for: keys, user: row ?? 0)
      #expect(view.count == keys.count)
      for key in keys {
        let expected = try scene.oneByOne(key, user: row)
        #expect(view[key] == expected, "\(key) of \(user)")
        #expect(overlaid[key]?.document == expected, "\(key) of \(user)")
        #expect(try scene.cache.store.readDocument(key) == expected, "\(key) of \(user)")
        #expect((overlays[key] != nil) == expected.hasLocalMutations, "\(key) of \(user)")
      }
    }
  }

  @Test("looks for overlays once if the user has none")
  func withoutOverlays() throws {
    let cache = try TestCache(.memory, user: "ada")
    defer { cache.close() }
    let keys = (0..<100).map { key("rooms/\($0)") }
    try cache.store.write(.set(key("halls/a"), ["n": .integer(1)]))
    try cache.store.acknowledgeNext(at: 10)
    let user = try #require(try cache.store.transactions.user.row())
    let steps = try cache.statementSteps { _ = try cache.store.tables.localDocuments.localView(of: keys, user: user) }
    #expect(steps == keys.count + 1)
  }

  @Test("finds the document of a write that replaces what is damaged, and names the damage where nothing replaces it")
  func damagedFields() throws {
    let cache = try TestCache(.memory)
    defer { cache.close() }
    let keys = ["rooms/a", "rooms/b"].map(key)
    try cache.store.receive(
      found("rooms/a", 5, ["n": .integer(1)]), found("rooms/b", 5, ["n": .integer(1)]), at: 10)
    try cache.store.write(.set(keys[0], ["n": .integer(2)]))
    try cache.database.execute("UPDATE documents SET fields = X'FFFF'")
    let user = try cache.store.transactions.user.row()
    let view = try cache.store.tables.localDocuments.localView(of: keys.prefix(1), user: user)
    #expect(view[keys[0]]?.values == ["n": .integer(2)])
    let error = #expect(throws: StoreError.self) {
      try cache.store.tables.localDocuments.localView(of: keys, user: user)
    }
    #expect(error?.kind == .corrupt)
    #expect(error?.message.contains("rooms/b") == true)
  }

  @Test("does not take the overlay of another document")
  func foreignOverlay() throws {
    let cache = try TestCache(.memory)
    defer { cache.close() }
    let keys = ["rooms/a", "rooms/b"].map(key)
    for key in keys { try cache.store.write(.set(key, ["n": .integer(2)])) }
    try cache.database.execute(
      """
      UPDATE cache_overlays SET mutation = (SELECT mutation FROM cache_overlays WHERE path = 'rooms/a')
      WHERE path = 'rooms/b'
      """)
    let user = try cache.store.transactions.user.row()
    let error = #expect(throws: CacheError.self) {
      try cache.store.tables.localDocuments.localView(of: keys, user: user)
    }
    #expect("\(try #require(error))".contains("the mutation inside is one of rooms/a"))
  }
}
