/// The size of a batch on the wire.
extension MutationBatch {
  /// A batch with more bytes is never sent. Messages may have 17 MiB; the difference is for the rest of the message.
  package static let maximumBytes = 17 * 1024 * 1024 - 64 * 1024
}

extension Mutation {
  /// A close upper bound of the size on the wire.
  package func encodedByteLimit(in database: DatabaseID) -> Int {
    let overhead = 32
    var size = overhead + database.documentsName.utf8.count + key.canonicalString.utf8.count
    switch operation {
    case .set(let fields):
      size += fields.bytes.count
    case .patch(let fields, let mask):
      size += fields.bytes.count
      for path in mask.paths { size += overhead + path.canonicalString.utf8.count }
    case .delete, .verify:
      break
    }
    for transform in transforms {
      size += overhead + transform.path.canonicalString.utf8.count + transform.operation.encodedByteLimit
    }
    return size
  }
}

extension TransformOperation {
  fileprivate var encodedByteLimit: Int {
    let overhead = 16
    switch self {
    case .serverTimestamp: return overhead
    case .increment(let operand), .minimum(let operand), .maximum(let operand):
      return overhead + operand.encoded().count
    case .arrayUnion(let elements), .arrayRemove(let elements):
      return elements.reduce(overhead) { $0 + overhead + $1.encoded().count }
    }
  }
}
