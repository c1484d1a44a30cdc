internal import Foundation
internal import HearthModel

/// The limit of what can be sent at all.
///
/// The backend decides how large a document may be, and refuses larger ones. A batch larger than a message of the protocol never
/// reaches it: the attempt fails as if a quota were used up and would be repeated for ever, with all later writes behind it. So
/// such a batch is refused before it enters the queue.
enum SendableWrites {
  /// Messages may have 17 MiB; the rest is for what surrounds the writes in the message.
  static let maximumBytes = 17 * 1024 * 1024 - 64 * 1024

  /// The error for a batch that is too large, nil for one that can be sent.
  static func refusal(of mutations: [Mutation], databaseID: DatabaseID) -> NSError? {
    let prefix = databaseID.documentsName.utf8.count
    var total = 0
    var largest: (key: DocumentKey, bytes: Int)?
    for mutation in mutations {
      let bytes = prefix + encodedSizeBytes(mutation)
      total += bytes
      if bytes > largest?.bytes ?? 0 { largest = (mutation.key, bytes) }
    }
    guard total > maximumBytes, let largest else { return nil }
    return .firestore(
      .invalidArgument,
      """
      A write of \(total) bytes cannot be sent; the limit is \(maximumBytes) bytes for all documents of a batch together. \
      The largest document in it is \(largest.key.canonicalString) with \(largest.bytes) bytes. Nothing was changed.
      """)
  }

  /// An upper bound of the size on the wire, close to it.
  private static func encodedSizeBytes(_ mutation: Mutation) -> Int {
    let overhead = 32
    var size = overhead + mutation.key.canonicalString.utf8.count
    switch mutation.operation {
    case .set(let fields):
      size += fields.bytes.count
    case .patch(let fields, let mask):
      size += fields.bytes.count
      for path in mask.paths { size += overhead + path.canonicalString.utf8.count }
    case .delete, .verify:
      break
    }
    for transform in mutation.transforms {
      size += overhead + transform.path.canonicalString.utf8.count + encodedSizeBytes(transform.operation)
    }
    return size
  }

  private static func encodedSizeBytes(_ operation: TransformOperation) -> Int {
    let overhead = 16
    switch operation {
    case .serverTimestamp: return overhead
    case .increment(let operand), .minimum(let operand), .maximum(let operand):
      return overhead + operand.encoded().count
    case .arrayUnion(let elements), .arrayRemove(let elements):
      return elements.reduce(overhead) { $0 + overhead + $1.encoded().count }
    }
  }
}
