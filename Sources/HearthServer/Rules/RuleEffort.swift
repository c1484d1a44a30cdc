internal import Foundation
internal import HearthModel
internal import HearthRules
internal import Synchronization

/// The effort of all decisions on a request, which may be made in several steps, and the documents that were decoded for them.
final class RuleEffort: Sendable {
  /// In units of `RuleResourceLimits/work`. Each decision alone may take half of it.
  static let maximum = 64 << 20
  /// An expression takes as long as so many units of work.
  static let ofExpression = 64
  /// Comparing bytes takes a fraction of the time that decoding them takes.
  private static let comparedBytesPerUnit = 16
  /// Documents that are kept. Rules may look up 20 for a request.
  private static let maximumDecoded = 20

  private typealias Decoded = (fields: EncodedFields, map: RuleMap)

  /// Others on the same thread are served after so much.
  private static let perTurn = 2 << 20

  private let spent = Atomic(0)
  /// The BatchWrite to which the write belongs.
  private let batch: BatchEffort?
  /// True once the batch knows how the decision on the write has ended.
  private let isNoted = Atomic(false)
  /// Shared with other efforts of the same step.
  private let shared: Shared

  private final class Shared: Sendable {
    /// The effort since it was the turn of others.
    let sinceTurn = Atomic(0)
    let decoded = Mutex<[DocumentKey: Decoded]>([:])
  }

  init() { (shared, batch) = (Shared(), nil) }

  private init(_ shared: Shared, in batch: BatchEffort?) { (self.shared, self.batch) = (shared, batch) }

  /// Another effort, which knows the documents that were decoded for this one, and takes turns with it.
  func another(in batch: BatchEffort? = nil) -> RuleEffort { RuleEffort(shared, in: batch) }

  /// Notes how the first decision on a write has ended. Later questions on it do not count.
  func note(isAllowed: Bool) {
    guard let batch, !isNoted.exchange(true, ordering: .relaxed) else { return }
    if isAllowed { batch.noteAllowed(spent.load(ordering: .relaxed)) } else { batch.noteDenied() }
  }

  static func of(_ decision: RuleDecision) -> Int { decision.workDone + decision.expressionCount * ofExpression }

  /// Returns false if it is more than the maximum by now.
  func spend(_ effort: Int) -> Bool {
    shared.sinceTurn.add(effort, ordering: .relaxed)
    // The sum of 64-bit numbers of so few bytes each does not overflow before the request is refused.
    let own = spent.add(effort, ordering: .relaxed).newValue
    return batch?.leaves(own) ?? (own <= Self.maximum)
  }

  /// Returns true once for so much effort: then it is the turn of others.
  func takeTurn() -> Bool {
    guard shared.sinceTurn.load(ordering: .relaxed) >= Self.perTurn else { return false }
    shared.sinceTurn.store(0, ordering: .relaxed)
    return true
  }

  private static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.count == right.count
      && left.withUnsafeBytes { left in
        right.withUnsafeBytes { right in
          guard let start = left.baseAddress, let other = right.baseAddress else { return true }
          return memcmp(start, other, left.count) == 0
        }
      }
  }

  /// Decodes a document that rules look up, once as long as its fields stay the same.
  ///
  /// - Returns: The fields, nil if it is missing, and the effort.
  /// - Throws: INTERNAL if they are damaged.
  func fields(of document: Document) throws(StatusError) -> (map: RuleMap?, effort: Int) {
    let bytes = document.fields.bytes
    if document.isFound, let known = shared.decoded.withLock({ $0[document.key] }),
      Self.areEqual(known.fields.bytes, bytes)
    {
      return (known.map, bytes.count / Self.comparedBytesPerUnit)
    }
    guard let map = try RuleMap.fields(of: document) else { return (nil, 0) }
    shared.decoded.withLock { decoded in
      guard decoded.count < Self.maximumDecoded || decoded[document.key] != nil else { return }
      decoded[document.key] = (document.fields, map)
    }
    return (map, bytes.count)
  }
}
