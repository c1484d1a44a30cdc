import HearthCache
import HearthModel
import Testing

@testable import HearthSync

/// A newer release with the same version of the tables may tell more than this one understands.
@Suite("What a client does not understand of others")
struct UnknownNewsTests {
  @Test("notices, columns and states of a newer release are no damage: everything is read again")
  func unknown() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let listener = b.listen(rooms)
    let lease = "SELECT lease_number FROM cache_sharing"
    let number = try cache.count(lease)
    try cache.execute("ALTER TABLE cache_notices ADD COLUMN extra INTEGER")
    try cache.execute("ALTER TABLE cache_sharing ADD COLUMN extra INTEGER")
    try cache.execute("UPDATE cache_sharing SET online_state = 17")
    for kind in [99, -3] {
      try cache.execute(
        """
        INSERT INTO cache_notices (client_id, kind, user_id, path, subject, code, message)
        VALUES (77, \(kind), 0, '', 0, 0, '')
        """)
    }
    // A refusal for a reason that only a newer release knows.
    try cache.execute(
      """
      INSERT INTO cache_notices (client_id, kind, user_id, path, subject, code, message)
      VALUES (77, 2, 1, '', 1000, 99, 'new reason')
      """)
    a.write(.set(key("rooms/1"), ["n": .integer(1)]))
    cache.wait(5)
    #expect(b.ids(listener) == ["1"])
    #expect(a.store.reopening == nil && b.store.reopening == nil)
    #expect(try cache.count(lease) == number, "the lease was created again, as a repair does")
    #expect(try cache.count("SELECT count(*) FROM cache_notices WHERE kind IN (99, -3)") == 2)
  }
}
