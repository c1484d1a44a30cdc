import TestSupport
import Testing

@testable import HearthModel

@Suite("Order of values")
struct ValueOrderTests {
  @Test("every pair of the zoo is in the documented order")
  func pairs() {
    for (i, group) in ValueZoo.ordered.enumerated() {
      for (j, other) in ValueZoo.ordered.enumerated() {
        for a in group {
          for b in other {
            #expect(Value.compare(a, b) == Ordering(i, j), "\(a) against \(b)")
          }
        }
      }
    }
  }

  @Test("the order is antisymmetric and transitive on nested values")
  func nested() {
    let values = ValueZoo.grown(count: 90, seed: 7)
    for a in values {
      for b in values {
        let order = Value.compare(a, b)
        #expect(order == Value.compare(b, a).reversed)
        for c in values where order != .descending && Value.compare(b, c) != .descending {
          if Value.compare(a, c) == .descending { Issue.record("\(a) <= \(b) <= \(c), but \(a) > \(c)") }
        }
      }
    }
  }

  @Test("an integer and a double beyond 2^53 are compared exactly")
  func exactNumbers() {
    #expect(Value.compare(.integer(9_007_199_254_740_993), .double(9_007_199_254_740_992)) == .descending)
    #expect(Value.compare(.integer(.max), .double(0x1p63)) == .ascending)
    #expect(Value.compare(.integer(.min), .double(-0x1p63)) == .same)
    #expect(Value.compare(.double(-0x1.0000000000001p63), .integer(.min)) == .ascending)
    #expect(Value.compare(.integer(3), .double(3.5)) == .ascending)
    #expect(Value.compare(.integer(-3), .double(-3.5)) == .descending)
  }

  @Test("classes are numbered in their order")
  func typeOrder() {
    #expect(Value.null.typeOrder < Value.boolean(true).typeOrder)
    #expect(Value.integer(1).typeOrder == Value.double(1).typeOrder)
    #expect(Value.array([]).typeOrder < Value.vector([1]).typeOrder)
    #expect(Value.vector([1]).typeOrder < Value.map([:]).typeOrder)
  }

  @Test("vectors give their elements, and other maps none")
  func vectors() {
    #expect(Value.vector([1, 2.5]).isVector)
    #expect(Value.vector([1, 2.5]).vectorElements == [1, 2.5])
    #expect(Value.map(["__type__": "__vector__", "value": ["x"]]).vectorElements == nil)
    #expect(Value.map(["value": [1]]).vectorElements == nil)
    #expect(!Value.map(["__type__": "__vector__"]).isVector)
  }
}

@Suite("Equality of values")
struct ValueEqualityTests {
  @Test("change detection tells integers from doubles and the zeros apart, and knows one NaN")
  func numbers() {
    #expect(Value.integer(1) != .double(1))
    #expect(Value.double(0) != .double(-0.0))
    #expect(Value.double(.nan) == .double(-.nan))
    #expect(Value.array([1]) != .array([1.0]))
    #expect(Value.map(["a": 1]) != .map(["a": 1.0]))
    #expect(Value.integer(1).isOrderEqual(to: .double(1)))
  }

  @Test("canonically equivalent strings are different")
  func strings() {
    #expect(Value.string("caf\u{E9}") != .string("cafe\u{301}"))
    let map: MapValue = ["caf\u{E9}": 1, "cafe\u{301}": 2]
    #expect(map.count == 2)
    #expect(map["cafe\u{301}"] == 2)
    #expect(map["caf\u{E9}"] == 1)
  }

  @Test("equal values have equal hashes and canonical strings, and only they have")
  func hashesAndCanonicalStrings() {
    let values = ValueZoo.all + ValueZoo.grown(count: 100, seed: 11)
    for a in values {
      for b in values {
        if a == b { #expect(a.hashValue == b.hashValue) }
        if (a == b) != ByteOrder.areEqual(a.canonicalString, b.canonicalString) {
          Issue.record("\(a) against \(b)")
        }
      }
    }
  }

  @Test("the contents of strings cannot imitate the structure of a canonical string")
  func injection() {
    #expect(Value.array(["a,s1:b"]).canonicalString != Value.array(["a", "b"]).canonicalString)
    #expect(Value.map(["a": "1,1:b=s1:2"]).canonicalString != Value.map(["a": "1", "b": "2"]).canonicalString)
  }
}

@Suite("Storage size of values")
struct StorageSizeTests {
  static let sizes: [(Value, Int)] = [
    (.null, 1), (true, 1), (1, 8), (1.5, 8), (.timestamp(Timestamp(seconds: 1, nanoseconds: 0)), 8),
    ("caf\u{E9}", 6), (.bytes([1, 2, 3]), 3), (.geoPoint(GeoPoint(latitude: 1, longitude: 2)), 16),
    (["a", 1], 10), (["ab": true, "c": "d"], 8), ([:], 0),
  ]

  @Test("each type counts what Firestore documents", arguments: sizes)
  func types(_ value: Value, _ size: Int) {
    #expect(value.storageSizeBytes == size)
  }

  @Test("a document counts its name, its fields and 32 bytes")
  func document() throws {
    // The example of Firestore's documentation on storage size: 44 + 71 + 32 bytes.
    let key = try DocumentKey(parsing: "users/jeff/tasks/my_task_id")
    let fields: MapValue = [
      "type": "Personal", "done": false, "priority": 1, "description": "Learn Cloud Firestore",
    ]
    #expect(key.storageSizeBytes == 44)
    #expect(fields.storageSizeBytes == 71)
    #expect(key.documentStorageSizeBytes(fields: fields) == 147)
  }
}
