import Foundation
import HearthModel
import Testing

@testable import HearthSync

@Suite("Bloom filters")
struct BloomFilterTests {
  /// Computed independently of this package: "rooms/a" and "rooms/c" of project "test-project", 53 bits, 7 functions.
  static let aAndC = BloomFilterData(bitmap: [74, 48, 2, 131, 28, 36, 0], padding: 3, hashCount: 7)

  private func name(_ path: String) -> String { TestClient.database.name(of: key(path)) }

  @Test("contains what was put in, and not what was not")
  func membership() throws {
    let filter = try #require(BloomFilter(Self.aAndC))
    #expect(filter.mightContain(name("rooms/a")) && filter.mightContain(name("rooms/c")))
    for id in ["b", "d", "e", "f"] { #expect(!filter.mightContain(name("rooms/\(id)"))) }
  }

  @Test("names count by their bytes: composed and decomposed forms are different documents")
  func unicode() throws {
    let filter = try #require(
      BloomFilter(BloomFilterData(bitmap: [2, 132, 12, 16, 0, 144, 36, 0], padding: 3, hashCount: 5)))
    #expect(filter.mightContain(name("rooms/\u{C0}\u{2211}\u{D2}")))
    #expect(filter.mightContain(name("rooms/cafe\u{301}")))
    #expect(!filter.mightContain(name("rooms/caf\u{E9}")))
  }

  @Test(
    "a filter that makes no sense cannot be used",
    arguments: [
      BloomFilterData(bitmap: [1], padding: -1, hashCount: 1),
      BloomFilterData(bitmap: [1], padding: 8, hashCount: 1),
      BloomFilterData(bitmap: [1], padding: 0, hashCount: -1),
      BloomFilterData(bitmap: [1], padding: 0, hashCount: 0),
      BloomFilterData(bitmap: [], padding: 1, hashCount: 0),
      BloomFilterData(bitmap: [], padding: 0, hashCount: 1),
      BloomFilterData(bitmap: [], padding: 0, hashCount: 0),
      BloomFilterData(bitmap: [1], padding: .min, hashCount: .max),
      BloomFilterData(bitmap: [255], padding: 0, hashCount: Int(Int32.max)),
    ])
  func unusable(_ data: BloomFilterData) {
    #expect(BloomFilter(data) == nil)
  }

  @Test("one byte with the most padding has one bit")
  func smallest() throws {
    #expect(try #require(BloomFilter(BloomFilterData(bitmap: [1], padding: 7, hashCount: 3))).mightContain("x"))
    #expect(try !#require(BloomFilter(BloomFilterData(bitmap: [0], padding: 7, hashCount: 3))).mightContain("x"))
  }

  private static let goldenFolder = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("shared/bloom-filter", isDirectory: true)

  private struct Filter: Decodable {
    struct Bits: Decodable {
      var bitmap: Data
      var padding: Int?
    }
    var bits: Bits
    var hashCount: Int?
  }

  private struct Membership: Decodable {
    var membershipTestResults: String
  }

  @Test(
    "answers as the official SDKs do, false positives included",
    .enabled(
      if: FileManager.default.fileExists(atPath: goldenFolder.path), "no folder shared/bloom-filter beside the project"),
    arguments: [1, 500, 5000, 50000], ["0001", "01", "1"])
  func goldenData(_ count: Int, _ rate: String) throws {
    let base = Self.goldenFolder.path + "/Validation_BloomFilterTest_MD5_\(count)_\(rate)_"
    let proto = try JSONDecoder().decode(
      Filter.self, from: Data(contentsOf: URL(fileURLWithPath: base + "bloom_filter_proto.json")))
    let expected = try JSONDecoder().decode(
      Membership.self, from: Data(contentsOf: URL(fileURLWithPath: base + "membership_test_result.json"))
    ).membershipTestResults
    let filter = BloomFilter(
      BloomFilterData(
        bitmap: Array(proto.bits.bitmap), padding: proto.bits.padding ?? 0, hashCount: proto.hashCount ?? 0))
    let database = DatabaseID(projectID: "project-1", database: "database-1")
    let answers = (0..<expected.utf8.count).map { index in
      filter?.mightContain("\(database.documentsName)/coll/doc\(index)") == true ? "1" : "0"
    }
    #expect(answers.joined() == expected)
  }
}

@Suite("Existence filters with names")
struct ExistenceFilterScenarioTests {
  private let rooms = collection("rooms")

  private func client(_ ids: String...) throws -> (TestClient, Int) {
    let client = try TestClient()
    let listener = client.listen(rooms).rawValue
    try client.fill(2, ids.map { found("rooms/\($0)", 1) }, at: 10)
    _ = client.takeTold()
    return (client, listener)
  }

  @Test("documents that the names exclude are looked up, and nothing is asked for again")
  func excluded() throws {
    let (client, listener) = try client("a", "b", "c")
    let requests = client.addRequests.count
    try client.count(2, in: 2, names: BloomFilterTests.aAndC)
    #expect(client.engine.activeLimboDocuments.isEmpty, "only the next snapshot acts on it")
    try client.snapshot(20)
    #expect(client.takeTold() == ["listener \(listener): cache [a b c] "])
    #expect(client.addRequests.dropFirst(requests).map(\.purpose) == [.limboResolution])
    #expect(client.engine.activeLimboDocuments == [key("rooms/b"): 1])
    try client.acknowledge(1)
    try client.current(1, token: "x")
    try client.snapshot(30)
    #expect(client.takeTold() == ["listener \(listener): server [a c] -b"])
  }

  @Test("names that keep too many have the result asked for again")
  func falsePositive() throws {
    let (client, listener) = try client("a", "b", "c")
    // One bit for a and c, which b hits by chance; d is gone and said to be, b is gone and not.
    try client.count(2, in: 2, names: BloomFilterData(bitmap: [6], padding: 2, hashCount: 1))
    try client.snapshot(20)
    #expect(client.takeTold() == ["listener \(listener): cache [a b c] "])
    let request = try #require(client.addRequests.last)
    #expect(request.targetID == 2 && request.purpose == .existenceFilterMismatchBloom)
    #expect(request.resumeToken.isEmpty && request.readTime == nil && request.expectedCount == nil)
    #expect(client.engine.activeLimboDocuments.isEmpty)
  }

  @Test("names that cannot be used count as none")
  func unusable() throws {
    let (client, _) = try client("a", "b", "c")
    try client.count(2, in: 2, names: BloomFilterData(bitmap: [255], padding: 9, hashCount: 1))
    try client.snapshot(20)
    #expect(client.addRequests.last?.purpose == .existenceFilterMismatch)
  }

  @Test("documents that came since the last snapshot are not looked up in the names")
  func newDocuments() throws {
    let (client, listener) = try client("a", "c")
    try client.put(found("rooms/d", 15), into: 2)
    try client.count(3, in: 2, names: BloomFilterTests.aAndC)
    try client.snapshot(20)
    #expect(client.takeTold() == ["listener \(listener): server [a c d] +d"])
    #expect(client.addRequests.count == 1)
  }

  @Test("the purpose of a request is not remembered: after a reconnect the target is an ordinary one")
  func purposeIsForgotten() throws {
    let (client, _) = try client("a", "b", "c")
    try client.count(2, in: 2, names: BloomFilterData(bitmap: [6], padding: 2, hashCount: 1))
    try client.snapshot(20)
    try client.breakWatchStream()
    try client.fire(.listenStreamConnectionBackoff)
    #expect(client.addRequests.last?.purpose == .listen)
    #expect(client.addRequests.last?.resumeToken.isEmpty == true)
  }
}
