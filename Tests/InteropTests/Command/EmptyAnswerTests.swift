import Foundation
import InteropSupport
import TestSupport
import Testing

@Suite("Conditions that find nothing, and why", .timeLimit(.minutes(5)))
struct EmptyAnswerTests {
  private static let documents = [
    "{\"n\": 5, \"ok\": true, \"zip\": \"94103\", \"seen\": {\"$timestamp\": \"2026-11-02T10:00:00Z\"}, \"tags\": [\"a\"], \"address\": {\"city\": \"SF\"}}",
    "{\"n\": 7.5, \"ok\": false, \"zip\": \"94104\", \"owner\": {\"$reference\": \"users/1\"}, \"tags\": [\"b\"]}",
  ]

  /// The condition, and a part of the answer.
  static let cases = [
    ("seen > 2026-11-01", #"Write 'seen > {"$timestamp": "2026-11-01T00:00:00Z"}'."#),
    ("seen > '2026-11-01'", "in double quotation marks or in none"),
    (#"n == "5""#, "Their n is a number, such as 5, and the condition has a text. Write 'n == 5'."),
    (#"ok == "true""#, "Their ok is a Boolean, such as true, and the condition has a text. Write 'ok == true'."),
    ("zip == 94103", #"Write 'zip == "94103"'."#),
    ("tags == a", #"To look for an element, write 'tags array-contains "a"'."#),
    ("address == SF", "with the fields city. To compare one of them, write 'address.city == SF'."),
    ("owner == users/1", #"Write 'owner == {"$reference":"users/1"}'."#),
    ("zpi == 94103", "None of the documents has a field zpi. Did you mean zip? Write 'zip == 94103'."),
    ("address.ciy == SF", "Did you mean address.city? Write 'address.city == SF'."),
    ("address.zip == 1", "None of the documents has a field address.zip; the fields of address are city."),
    ("seen == null", "1 of the 2 documents has no field seen, and a condition with == null finds only documents that"),
    ("id == SF", "has a field id. The id of a document is __name__: write '__name__ == SF'."),
    (
      "colour == red",
      "None of the documents has a field colour; the fields are address, n, ok, owner, seen, tags, zip."
    ),
  ]

  @Test("hearth data names the type of the field and the nearest right form, or the nearest field", arguments: cases)
  func data(condition: String, advice: String) async throws {
    try await DataPlace.run { place in
      for (index, document) in Self.documents.enumerated() { try await place.set("c/\(index)", document) }
      let found = try await place.hearth("query", "c", "--where", condition)
      #expect(found.text.contains(advice), "\(found.text)")
      guard found.status == 0 else { return }
      #expect(found.text.contains("match; without the conditions there are 2 documents in c. "), "\(found.text)")
      #expect(try await place.hearth("count", "c", "--where", condition).text.contains(advice))
    }
  }

  @Test("an order or a sum by a field that no document has is named, and a condition of the right type is not")
  func orders() async throws {
    try await DataPlace.run { place in
      for (index, document) in Self.documents.enumerated() { try await place.set("c/\(index)", document) }
      let order = try await place.hearth("query", "c", "--order-by", "zpi:desc")
      #expect(order.text.contains("has a field zpi. Did you mean zip? Write 'zip:desc'."), "\(order.text)")
      #expect(order.text.contains("match; without the order there are 2 documents in c. "), "\(order.text)")
      let direction = try await place.hearth("query", "c", "--order-by", "n.desc")
      #expect(direction.text.contains("A direction stands behind a colon: write 'n:desc'."), "\(direction.text)")
      let sum = try await place.hearth("count", "c", "--sum", "nn")
      #expect(sum.text.contains("None of the documents has a field nn. Did you mean n?"), "\(sum.text)")
      for condition in ["n > 100", "n == null", "tags array-contains c", "zip in [\"1\"]"] {
        let right = try await place.hearth("query", "c", "--where", condition)
        #expect(right.text.hasSuffix("there are 2 documents in c.\n"), "\(right.text)")
      }
    }
  }

  #if os(Linux)
    @Test("hearth cache says the same of what is cached")
    func cache() async throws {
      let base = try await ExampleCache()
      for (condition, advice) in [
        ("count == \"1\"", "Their count is a number, such as 1, and the condition has a text. Write 'count == 1'."),
        ("txt == x", "None of the documents has a field txt. Did you mean text? Write 'text == x'."),
        ("at > 2026-01-01", #"Write 'at > {"$timestamp": "2026-01-01T00:00:00Z"}'."#),
      ] {
        let found = try await base.hearth("cache", "query", base.cache, "notes", "--where", condition)
        #expect(
          found.status == 0 && found.text.contains("the collection notes is in the cache. ")
            && found.text.contains(advice),
          "\(found.text)")
      }
    }
  #endif
}
