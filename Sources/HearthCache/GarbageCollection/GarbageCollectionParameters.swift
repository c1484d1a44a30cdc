internal import HearthModel

/// The limits of one run of least-recently-used garbage collection. The defaults are those of firebase-ios-sdk lru_garbage_collector.h.
package struct GarbageCollectionParameters: Equatable, Sendable {
  /// Nothing is removed while the cache is smaller than this.
  package var thresholdBytes: Int64
  /// The share of targets and unneeded documents that a run aims at, in `0 ... 100`.
  package var percentile: Int64
  /// A run aims at no more targets and documents than this.
  package var maxSequenceNumbers: Int64

  package init(thresholdBytes: Int64, percentile: Int64 = 10, maxSequenceNumbers: Int64 = 1_000) {
    self.thresholdBytes = thresholdBytes
    self.percentile = min(max(percentile, 0), 100)
    self.maxSequenceNumbers = max(maxSequenceNumbers, 0)
  }

  /// The threshold that switches garbage collection off.
  package static let unlimitedBytes: Int64 = -1
}

/// The result of a run of garbage collection.
package struct GarbageCollectionReport: Equatable, Sendable, CustomStringConvertible {
  /// False when the cache was smaller than the threshold, or is not collected this way.
  package var hasCollected = false
  package var removedTargetCount = 0
  package var removedDocumentCount = 0
  /// Bytes that hold something, before and after.
  var cacheBytesBefore: Int64 = 0
  package var cacheBytesAfter: Int64 = 0
  /// Bytes that the file system, or the memory of the process, got back.
  package var releasedBytes: Int64 = 0
  /// In how many transactions.
  package var stepCount = 0

  package init() {}

  package var description: String {
    let queries = CountedText.of(removedTargetCount, "query", plural: "queries")
    let removed = "\(queries) and \(CountedText.of(removedDocumentCount, "document"))"
    return "Garbage collection removed \(removed) in \(CountedText.of(stepCount, "step")): the cache went from "
      + "\(cacheBytesBefore) to \(cacheBytesAfter) bytes, and \(releasedBytes) bytes were returned to the file system."
  }
}
