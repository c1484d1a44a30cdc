import HearthModel
import TestSupport
import Testing

@Suite("Batch identities and labels")
struct BatchIdentityTests {
  @Test("an identity comes back from its bytes, a label from its text")
  func roundTrips() {
    var generator = SeededGenerator(seed: 7)
    for cacheID in ["", "cache", "B1E6F7D0-0000-4000-8000-000000000000", "é"] {
      let identity = BatchIdentity.random(using: &generator)
      #expect(BatchIdentity(bytes: identity.bytes) == identity)
      let label = BatchLabel(cacheID: cacheID, identity: identity)
      #expect(BatchLabel(parsing: label.text) == label)
    }
    for identity in [BatchIdentity(high: 0, low: 0), BatchIdentity(high: .max, low: 1)] {
      #expect(BatchIdentity(bytes: identity.bytes) == identity)
      let label = BatchLabel(cacheID: "", identity: identity)
      #expect(BatchLabel(parsing: label.text) == label)
    }
  }

  @Test("the text of a label is what Google allows in a label's value, and the same in every release")
  func text() throws {
    let label = BatchLabel(cacheID: "a", identity: BatchIdentity(high: 0xab, low: 1))
    // FNV-1a of "a", as its authors publish it.
    #expect(label.text == "af63dc4c8601ec8c-00000000000000ab0000000000000001")
    #expect(try /[a-z0-9_-]{1,63}/.wholeMatch(in: label.text) != nil)
  }

  @Test("caches with other names have another client's part")
  func clients() {
    let identity = BatchIdentity(high: 1, low: 2)
    #expect(BatchLabel(cacheID: "a", identity: identity) != BatchLabel(cacheID: "b", identity: identity))
  }

  @Test(
    "texts that no label has are none",
    arguments: [
      "", "cache/7", "-", "af63dc4c8601ec8c", "af63dc4c8601ec8c_00000000000000ab0000000000000001",
      "AF63DC4C8601EC8C-00000000000000ab0000000000000001", "af63dc4c8601ec8c-00000000000000ab000000000000000",
      "af63dc4c8601ec8c-00000000000000ab00000000000000010", "af63dc4c8601ec8c-0000000000000xab000000000000001",
      "af63dc4c8601ec8c-00000000000000ab00000000000000é", "+f63dc4c8601ec8c-00000000000000ab0000000000000001",
    ])
  func noLabels(text: String) {
    #expect(BatchLabel(parsing: text) == nil)
  }

  @Test("only sixteen bytes are an identity", arguments: [0, 1, 15, 17])
  func noIdentities(count: Int) {
    #expect(BatchIdentity(bytes: [UInt8](repeating: 1, count: count)) == nil)
  }
}
