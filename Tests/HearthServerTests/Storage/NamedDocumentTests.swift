import HearthModel
import HearthStore
import TestSupport
import Testing

@testable import HearthServer

@Suite("Documents that are read by their names", .timeLimit(.minutes(5)))
struct NamedDocumentTests {
  @Test("come in pieces of bytes: together what they are at once, now and at each version before")
  func pieces() async throws {
    for seed in SeededGenerator.seeds(3) {
      var generator = SeededGenerator(seed: seed)
      let fixture = try StorageFixture()
      let storage = fixture.storage
      var versions: [SnapshotVersion?] = [nil]
      for _ in 0..<6 {
        let mutations = (0..<20).map { id in
          generator.chance(20)
            ? Mutation.delete(key("c/\(id)"))
            : .set(key("c/\(id)"), ["t": .string(String(repeating: "t", count: generator.below(200) << 10))])
        }
        versions.append(try await storage.commit(CommitRequest(mutations: mutations)).version)
      }
      for version in versions {
        let keys = (0..<60).map { _ in key("c/\(generator.below(25))") }
        var rest = keys[...]
        var documents: [Document] = []
        while !rest.isEmpty {
          let answer = try await storage.firstDocuments(of: rest, at: version)
          let piece = answer.documents
          #expect(piece.map(\.key) == Array(rest.prefix(piece.count)), "seed \(seed)")
          // The last one may be what exceeds a page.
          let bytes = piece.dropLast().reduce(0) { $0 + $1.fields.bytes.count }
          #expect(!piece.isEmpty && bytes < PieceSizes().bytes, "seed \(seed): \(bytes) bytes")
          documents += piece
          rest = rest.dropFirst(max(1, piece.count))
        }
        let whole = try await storage.documents(for: keys, at: version).documents
        #expect(documents == whole, "seed \(seed), version \(String(describing: version))")
      }
      await storage.close()
    }
  }
}
