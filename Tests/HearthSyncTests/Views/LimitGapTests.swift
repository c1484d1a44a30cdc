import HearthCache
import HearthModel
import TestSupport
import Testing

@testable import HearthSync

/// A backend with a few rooms. A client with pending writes has the rooms that it was sent for a query with a limit, and some others.
///
/// Equation: without a gap, the client's result = the result among all rooms of the backend with the client's writes.
@Suite("The gap in a full limit")
struct LimitGapTests {
  /// The rooms of the backend and of the client.
  private struct World {
    let query: Query
    /// As the backend has them.
    let rooms: DocumentMap
    let confirmedKeys: Set<DocumentKey>
    /// As the client shows them; without those that it does not have, or has deleted.
    var local: DocumentMap
    /// The writes of the client; nil for a deletion.
    var writes: [DocumentKey: Document?] = [:]
    /// The keys of writes that the backend has committed after its last snapshot.
    var acknowledgedKeys: Set<DocumentKey> = []

    init(_ numbers: inout SeededGenerator) {
      let order = HearthSyncTests.rooms.ordered(by: "n", numbers.chance(50) ? .ascending : .descending)
      let query = order.with(limit: 1 + numbers.below(4), type: numbers.chance(50) ? .first : .last)
      let rooms = (0..<(2 + numbers.below(7))).map { found("rooms/\($0)", 5, Self.fields(&numbers)) }
      self.query = query
      self.rooms = DocumentMap(uniqueKeysWithValues: rooms.map { ($0.key, $0) })
      let confirmedKeys = Set(Self.result(of: query, among: self.rooms).map(\.key))
      self.confirmedKeys = confirmedKeys
      local = self.rooms.filter { confirmedKeys.contains($0.key) || numbers.chance(30) }
      for id in 0..<10 where numbers.chance(25) { write(key("rooms/\(id)"), &numbers) }
    }

    private static func fields(_ numbers: inout SeededGenerator) -> MapValue {
      ["n": .integer(Int64(numbers.below(6)))]
    }

    private mutating func write(_ key: DocumentKey, _ numbers: inout SeededGenerator) {
      var written: Document?
      switch numbers.below(3) {
      case 0: break
      case 1: written = locallyWritten(key.canonicalString, Self.fields(&numbers))
      default:
        // Another field of it.
        guard let known = local[key], let n = try? known.fields.decoded()["n"] else { return }
        written = locallyWritten(key.canonicalString, ["n": n, "m": 1])
      }
      writes[key] = .some(written)
      local[key] = written
      if numbers.chance(20) { acknowledgedKeys.insert(key) }
    }

    static func result(of query: Query, among documents: DocumentMap) -> [Document] {
      var all = DocumentSet(query: query)
      all.insert(contentsOf: Array(documents.values))
      let excess = max(0, all.count - (query.limit ?? all.count))
      return Array(query.isLimitToLast ? all.documents.dropFirst(excess) : all.documents.dropLast(excess))
    }

    /// The result that the client shows.
    var shown: [Document] { Self.result(of: query, among: local) }

    /// The backend's rooms with the client's writes.
    var merged: DocumentMap {
      var all = rooms
      for (key, document) in writes { all[key] = document }
      return all
    }

    /// The knowledge of the client about the written ones among its confirmed rooms.
    private func written(_ keys: Set<DocumentKey>) -> [DocumentKey: WrittenDocument] {
      keys.reduce(into: [:]) {
        let isNewer = acknowledgedKeys.contains($1)
        $0[$1] = WrittenDocument(awaitsOutcome: writes[$1] != nil, confirmed: isNewer ? nil : rooms[$1])
      }
    }

    var hasGap: Bool {
      let documents = DocumentSet(query: query, sorted: shown)
      let gap = LimitGap(query: query, documents: documents, confirmedKeys: confirmedKeys)
      return !gap.isRuledOut && gap.exists(written(gap.keys))
    }
  }

  @Test("without one nothing is missing; with one something may be", arguments: SeededGenerator.seeds(40))
  func equation(seed: UInt64) throws {
    var numbers = SeededGenerator(seed: seed)
    for _ in 0..<100 {
      let world = World(&numbers)
      let shown = world.shown.map(\.key)
      if !world.hasGap {
        let expected = World.result(of: world.query, among: world.merged).map(\.key)
        #expect(shown == expected, "\(world)")
      } else if world.acknowledgedKeys.isEmpty {
        #expect(lacksRoom(world), "\(world)")
      }
    }
  }

  /// True if there may be a room at the backend, beyond those that it has sent, that belongs into the result.
  private func lacksRoom(_ world: World) -> Bool {
    guard world.query.limit == world.shown.count else { return true }
    let confirmed = World.result(of: world.query, among: world.rooms)
    guard let edge = world.query.edge(first: confirmed.first, last: confirmed.last), let id = Int(edge.key.id),
      let n = try? edge.fields.decoded()["n"]
    else { return false }
    // Just before it, and just behind it: no other room lies in between.
    return ["rooms/\(id - 1)~", "rooms/\(id)!"].contains { path in
      let other = found(path, 5, ["n": n])
      guard world.query.sorts(other, beyond: edge) else { return false }
      var all = world.local
      all[other.key] = other
      return World.result(of: world.query, among: all).contains { $0.key == other.key }
    }
  }
}
