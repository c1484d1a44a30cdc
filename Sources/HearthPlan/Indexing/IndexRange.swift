internal import HearthModel

/// The keys from `start` up to but not including `end`; without an end, all keys from `start` on.
package struct IndexRange: Equatable, Sendable {
  package var start: [UInt8]
  package var end: [UInt8]?

  /// All keys that begin with `prefix`; with an empty one, those of all documents that are entered with their values.
  package init(prefix: [UInt8]) {
    start = prefix.isEmpty ? [IndexKeys.withoutValues + 1] : prefix
    end = OrderedValueWriter.end(of: prefix)
  }

  /// The documents that an index holds without their values.
  package static let withoutValues = IndexRange(prefix: [IndexKeys.withoutValues])

  package var isEmpty: Bool {
    assert(!start.isEmpty, "a range of an index begins before all keys")
    guard let end else { return false }
    return !start.lexicographicallyPrecedes(end)
  }

  /// Keeps only what is also in `start..<end`.
  package mutating func cut(from start: [UInt8]? = nil, to end: [UInt8]? = nil) {
    if let start, self.start.lexicographicallyPrecedes(start) { self.start = start }
    if let end { self.end = self.end.map { end.lexicographicallyPrecedes($0) ? end : $0 } ?? end }
  }
}
