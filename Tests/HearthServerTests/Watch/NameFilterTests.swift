import Foundation
import HearthModel
import Testing

@testable import HearthServer

@Suite("Bloom filters of existence filters")
struct NameFilterTests {
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

  private static let database = DatabaseID(projectID: "project-1", database: "database-1")

  @Test(
    "are bit by bit those of production",
    .enabled(
      if: FileManager.default.fileExists(atPath: goldenFolder.path), "no folder shared/bloom-filter beside the project"),
    arguments: [1, 500, 5000, 50000], [("0001", 0.0001), ("01", 0.01), ("1", 1)])
  func goldenData(_ count: Int, _ rate: (name: String, value: Double)) throws {
    let path = Self.goldenFolder.path + "/Validation_BloomFilterTest_MD5_\(count)_\(rate.name)_bloom_filter_proto.json"
    let golden = try JSONDecoder().decode(Filter.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
    var filter = NameFilter(count: count, errorRate: rate.value)
    for index in 0..<count { filter.insert("\(Self.database.documentsName)/coll/doc\(index)") }
    #expect(filter.data.bitmap == Array(golden.bits.bitmap))
    #expect(filter.data.padding == golden.bits.padding ?? 0)
    #expect(filter.data.hashCount == golden.hashCount ?? 0)
  }

  @Test("the filter of one known name has the bits that other implementations set")
  func known() {
    var filter = NameFilter(count: 1, errorRate: 0.01)
    filter.insert("\(Self.database.documentsName)/coll/doc0")
    #expect(filter.data == BloomFilterData(bitmap: [0x9B, 0x01], padding: 5, hashCount: 8))
  }

  @Test("of no names is empty")
  func empty() {
    #expect(NameFilter(count: 0).data == BloomFilterData(bitmap: [], padding: 0, hashCount: 0))
  }
}
