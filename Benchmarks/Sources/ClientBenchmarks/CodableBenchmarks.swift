internal import BenchmarkKit
internal import Foundation
internal import Hearth

/// `data(as:)` compared with Foundation's `JSONDecoder` on the same content.
enum CodableBenchmarks {
  static let all = [
    Benchmark(
      "codable.decode", group: "Codable",
      title: "decode documents with data(as:), one after the other (floor: JSONDecoder on the same content)",
      unit: .item,
      sizes: [50_000], goals: [50_000: Benchmark.Goal(timesFloor: 1)], body: decode),
    Benchmark(
      "codable.decode-2-threads", group: "Codable",
      title: "the same, 2 threads at once (floor: one thread; the gain is in the wall time)", unit: .item,
      sizes: [50_000], goals: [50_000: Benchmark.Goal(gain: 1.7)], body: { try decode($0, threads: 2) }),
    Benchmark(
      "codable.decode-4-threads", group: "Codable",
      title: "the same, 4 threads at once (floor: one thread)", unit: .item, sizes: [50_000],
      body: { try decode($0, threads: 4) }),
    Benchmark(
      "codable.encode", group: "Codable",
      title: "encode with Firestore.Encoder (floor: JSONEncoder on the same values)", unit: .item, sizes: [50_000],
      body: encode),
  ]

  private static func decode(_ session: Session) throws {
    let places = try StoredPlaces(count: session.size)
    let texts = (0..<session.size).map { Data(Place.json($0).utf8) }
    try session.measure(items: session.size) { try places.decode(places.documents[...]) }
    try session.floor("JSONDecoder", items: session.size, setUp: { JSONDecoder() }) { decoder in
      decoder.dateDecodingStrategy = .secondsSince1970
      var checksum = 0
      for text in texts { checksum &+= try decoder.decode(Place.self, from: text).rank }
      try Place.check(checksum, count: session.size)
    }
    try places.end()
  }

  private static func decode(_ session: Session, threads: Int) throws {
    let places = try StoredPlaces(count: session.size)
    let count = session.size
    try session.measure(items: count) {
      let share = (count + threads - 1) / threads
      let group = DispatchGroup()
      for thread in 0..<threads {
        let range = min(thread * share, count)..<min((thread + 1) * share, count)
        group.enter()
        Thread.detachNewThread {
          do { try places.decode(places.documents[range]) } catch { preconditionFailure("\(error)") }
          group.leave()
        }
      }
      group.wait()
    }
    try session.floor("one thread", items: session.size, setUp: {}) { try places.decode(places.documents[...]) }
    try places.end()
  }

  private static func encode(_ session: Session) throws {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .secondsSince1970
    let places = try (0..<session.size).map { try decoder.decode(Place.self, from: Data(Place.json($0).utf8)) }
    try session.measure(items: session.size) {
      let encoder = Firestore.Encoder()
      for place in places where try encoder.encode(place).count != 11 { throw Failure(message: "fields are missing") }
    }
    try session.floor("JSONEncoder", items: session.size, setUp: { JSONEncoder() }) { encoder in
      encoder.dateEncodingStrategy = .secondsSince1970
      for place in places where try encoder.encode(place).isEmpty { throw Failure(message: "no text") }
    }
  }
}

/// The model of a document of 11 fields.
private struct Place: Codable {
  struct Address: Codable {
    var street: String
    var city: String
  }

  var title: String
  var group: Int
  var rank: Int
  var price: Double
  var active: Bool
  var createdAt: Date
  var tags: [String]
  var location: GeoPoint
  var address: Address
  var owner: String
  var notes: String

  static func json(_ index: Int) -> String {
    """
    {"title":"Place number \(index)","group":\(index % 300),"rank":\(index),"price":\(Double(index) / 8),\
    "active":\(index % 2 == 0),"createdAt":\(1_700_000_000 + index),"tags":["harbour","orchard","lantern"],\
    "location":{"latitude":48.1,"longitude":11.5},\
    "address":{"street":"terrace street \(index % 200)","city":"willow"},"owner":"place-\(index + 1)",\
    "notes":"\(notes)"}
    """
  }

  /// The same in the JSON form of the protocol.
  static func fields(_ index: Int) -> String {
    """
    "title":{"stringValue":"Place number \(index)"},"group":{"integerValue":"\(index % 300)"},\
    "rank":{"integerValue":"\(index)"},"price":{"doubleValue":\(Double(index) / 8)},\
    "active":{"booleanValue":\(index % 2 == 0)},"createdAt":{"timestampValue":"2023-11-14T22:13:20Z"},\
    "tags":{"arrayValue":{"values":[{"stringValue":"harbour"},{"stringValue":"orchard"},{"stringValue":"lantern"}]}},\
    "location":{"geoPointValue":{"latitude":48.1,"longitude":11.5}},\
    "address":{"mapValue":{"fields":{"street":{"stringValue":"terrace street \(index % 200)"},\
    "city":{"stringValue":"willow"}}}},"owner":{"stringValue":"place-\(index + 1)"},"notes":{"stringValue":"\(notes)"}
    """
  }

  static func check(_ checksum: Int, count: Int) throws {
    guard checksum == count * (count - 1) / 2 else { throw Failure(message: "wrong sum of ranks: \(checksum)") }
  }

  private static let notes = String(repeating: "meadow quarry ", count: 12)
}

/// Snapshots of documents in a cache that a bundle filled, without a network.
private final class StoredPlaces: Sendable {
  let documents: [QueryDocumentSnapshot]
  private let firestore: Firestore

  init(count: Int) throws {
    let app = App(cache: MemoryCacheSettings(), host: "127.0.0.1:1")
    try app.goOffline()
    let firestore = app.firestore
    let bundle = Self.bundle(count)
    try waitFor { _ = try await firestore.loadBundle(bundle) }
    documents = try waitFor {
      try await firestore.collection("places").order(by: "rank").getDocuments(source: .cache).documents
    }
    guard documents.count == count else { throw Failure(message: "\(documents.count) documents") }
    self.firestore = firestore
  }

  func decode(_ documents: ArraySlice<QueryDocumentSnapshot>) throws {
    var checksum = 0
    for document in documents { checksum &+= try document.data(as: Place.self).rank }
    let ranks = documents.indices
    let expected = (ranks.lowerBound + ranks.upperBound - 1) * ranks.count / 2
    guard checksum == expected else { throw Failure(message: "wrong sum of ranks: \(checksum)") }
  }

  func end() throws {
    let app = firestore.app
    try waitFor { await app.delete() }
  }

  private static func bundle(_ count: Int) -> Data {
    var body = Data()
    func add(_ element: String) { body.append(contentsOf: "\(element.utf8.count)\(element)".utf8) }
    for index in 0..<count {
      let name = "projects/benchmark/databases/(default)/documents/places/place-\(index)"
      let time = "2026-01-01T00:00:00Z"
      add("{\"documentMetadata\":{\"name\":\"\(name)\",\"readTime\":\"\(time)\",\"exists\":true}}")
      add(
        "{\"document\":{\"name\":\"\(name)\",\"createTime\":\"\(time)\",\"updateTime\":\"\(time)\","
          + "\"fields\":{\(Place.fields(index))}}}")
    }
    let metadata =
      "{\"metadata\":{\"id\":\"places\",\"createTime\":\"2026-01-01T00:00:00Z\",\"version\":1,"
      + "\"totalDocuments\":\(count),\"totalBytes\":\(body.count)}}"
    return Data("\(metadata.utf8.count)\(metadata)".utf8) + body
  }
}
