internal import HearthModel
internal import HearthWire
internal import SwiftProtobuf

/// Documents of 11 fields, about 510 bytes of fields each, with ids of 20 characters; the same for every run.
struct SampleDocuments {
  let count: Int

  static let database = DatabaseID(projectID: "benchmark")
  static let collection = ResourcePath(["places"])
  /// The version of all documents at first.
  static let firstVersion = SnapshotVersion(microseconds: 1_750_000_000_000_000)
  /// The number of documents with the same `group`.
  static let groupSize = 10

  init(_ count: Int) {
    self.count = count
  }

  var groupCount: Int { max(count / Self.groupSize, 1) }

  func id(_ index: Int) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    var numbers = Numbers(seed: UInt64(index) &* 0x5851_F42D_4C95_7F2D)
    return String(decoding: (0..<20).map { _ in alphabet[Int(numbers.next() % 62)] }, as: UTF8.self)
  }

  func key(_ index: Int) throws -> DocumentKey {
    try DocumentKey(Self.collection.appending(id(index)))
  }

  /// - Parameter revision: another one gives other contents of the same size, with the same group and rank.
  func fields(_ index: Int, revision: Int = 0) -> EncodedFields {
    var numbers = Numbers(seed: UInt64(index) &+ UInt64(revision) &* 7919)
    let words = [
      "harbour", "orchard", "lantern", "meadow", "quarry", "station", "terrace", "velvet", "willow", "zephyr",
    ]
    func word() -> String { words[Int(numbers.next() % 10)] }
    let notes = (0..<23).map { _ in word() }.joined(separator: " ")
    let map: MapValue = [
      "title": .string("Place number \(index)"),
      "group": .integer(Int64(index % groupCount)),
      "rank": .integer(Int64(rank(index))),
      "price": .double(Double(numbers.next() % 100_000) / 100),
      "active": .boolean(numbers.next() % 2 == 0),
      "createdAt": .timestamp(Timestamp(seconds: 1_700_000_000 + Int64(index), nanoseconds: 0)),
      "tags": .array([.string(word()), .string(word()), .string(word())]),
      "location": .geoPoint(
        GeoPoint(latitude: Double(numbers.next() % 180) - 90, longitude: Double(numbers.next() % 360) - 180)),
      "address": .map(["street": .string("\(word()) street \(index % 200)"), "city": .string(word())]),
      "owner": .string(id(index &+ 1_000_000_007)),
      "notes": .string(String(notes.prefix(170))),
    ]
    return EncodedFields(map)
  }

  /// A number below the count that no other document has, in no order.
  func rank(_ index: Int) -> Int {
    // 7919 is prime and divides no size that is measured, so this is a permutation.
    index &* 7919 % count
  }

  func document(_ index: Int, revision: Int = 0) throws -> Document {
    let version = SnapshotVersion(microseconds: Self.firstVersion.microseconds + Int64(revision) * 1_000_000)
    return .found(
      try key(index), version: version, createTime: Self.firstVersion, fields: fields(index, revision: revision))
  }

  /// A `ListenResponse` that brings the document to a target, as it comes from the network.
  func watchMessage(_ index: Int, revision: Int = 0, target: TargetID) throws -> [UInt8] {
    let change = WatchDocumentChange(
      key: try key(index), updatedTargetIDs: [target], document: try document(index, revision: revision))
    return try WireTranslator(database: Self.database).encode(.documentChange(change)).serializedBytes()
  }

  // MARK: - Queries

  static func field(_ name: String) throws -> FieldPath { try FieldPath([name]) }

  static let everything = Query(path: collection)

  /// Ten documents.
  static func equality(_ group: Int = 7) throws -> Query {
    everything.with(filter: .field(try field("group"), .equal, .integer(Int64(group))))
  }

  /// One document.
  static func single(_ index: Int) throws -> Query {
    everything.with(filter: .field(try field("title"), .equal, .string("Place number \(index)")))
  }

  /// Documents that came one after the other.
  static func createdAt(_ indexes: Range<Int>) throws -> Query {
    func time(_ index: Int) -> Value {
      .timestamp(Timestamp(seconds: 1_700_000_000 + Int64(index), nanoseconds: 0))
    }
    let path = try field("createdAt")
    return everything.with(filter: .field(path, .greaterThanOrEqual, time(indexes.lowerBound)))
      .with(filter: .field(path, .lessThan, time(indexes.upperBound)))
  }

  /// The first 25 documents from the middle of the ranks on.
  func range() throws -> Query {
    Self.everything.with(filter: .field(try Self.field("rank"), .greaterThanOrEqual, .integer(Int64(count / 2))))
      .with(order: OrderBy(path: try Self.field("rank"), direction: .ascending)).with(limit: 25)
  }
}

/// Repeatable numbers (SplitMix64).
struct Numbers {
  private var state: UInt64

  init(seed: UInt64) {
    state = seed
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
