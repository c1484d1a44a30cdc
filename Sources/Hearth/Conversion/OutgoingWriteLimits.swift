internal import Foundation
internal import HearthModel

/// The limits of a write that can be sent.
///
/// The backend decides how large a document may be, and refuses larger ones. A batch larger than a message of the protocol never reaches
/// it. The attempt fails as if a quota were used up, and would be retried without end, with all later writes behind it. So such a batch is
/// refused before it enters the queue, and so is one whose values are nested deeper than messages can be read.
enum OutgoingWriteLimits {
  /// The error for a batch that is too large or nested too deep, nil for one that can be sent.
  static func refusal(of mutations: [Mutation], databaseID: DatabaseID) -> NSError? {
    if let mutation = mutations.first(where: isNestedTooDeep) {
      return .firestore(
        .invalidArgument,
        """
        Data nested deeper than \(UserDataReader.maximumDepth) levels of maps and arrays cannot be sent. They are in the \
        write to \(mutation.key.canonicalString). Nothing was changed.
        """)
    }
    return sizeRefusal(of: mutations, databaseID: databaseID)
  }

  private static func isNestedTooDeep(_ mutation: Mutation) -> Bool {
    let levels = UserDataReader.maximumDepth
    switch mutation.operation {
    case .set(let fields):
      if isNested(fields, deeperThan: levels) { return true }
    case .patch(let fields, let mask):
      if isNested(fields, deeperThan: levels) || mask.paths.contains(where: { $0.segments.count > levels }) {
        return true
      }
    case .delete, .verify:
      break
    }
    return mutation.transforms.contains { transform in
      let below = levels - transform.path.segments.count
      switch transform.operation {
      case .serverTimestamp, .increment, .minimum, .maximum: return below < 0
      case .arrayUnion(let elements), .arrayRemove(let elements):
        return below < 0 || isNested(EncodedFields(["": .array(elements)]), deeperThan: below + 1)
      }
    }
  }

  /// Malformed bytes, which this process never makes, count as not nested: their reader reports them.
  private static func isNested(_ fields: EncodedFields, deeperThan levels: Int) -> Bool {
    (try? fields.isNested(deeperThan: levels)) ?? false
  }

  private static func sizeRefusal(of mutations: [Mutation], databaseID: DatabaseID) -> NSError? {
    var total = 0
    var largest: (key: DocumentKey, bytes: Int)?
    for mutation in mutations {
      let bytes = mutation.encodedByteLimit(in: databaseID)
      total += bytes
      if bytes > largest?.bytes ?? 0 { largest = (mutation.key, bytes) }
    }
    guard total > MutationBatch.maximumBytes, let largest else { return nil }
    return .firestore(
      .invalidArgument,
      """
      A write of \(total) bytes cannot be sent; the limit is \(MutationBatch.maximumBytes) bytes for all documents of a batch \
      together. The largest document in it is \(largest.key.canonicalString) with \(largest.bytes) bytes. Nothing was changed.
      """)
  }
}
