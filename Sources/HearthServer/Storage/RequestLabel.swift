internal import Crypto
package import HearthModel
internal import HearthWire

/// What a labelled request of a write stream is known by: the name that its client has given it, and a digest of what it
/// asks for. A client can repeat a request whose answer was lost without having it applied twice.
///
/// Only a request that agrees in both is a repetition. One with a known name and other writes is a request of its own: a
/// client that breaks the rule that a name is never given twice loses nothing by it.
package struct RequestLabel: Hashable, Sendable {
  package let label: BatchLabel
  /// SHA-256 over the writes in the order of the request, fields in the encoding in which they came. Clients send a
  /// batch again as they have stored it, so its digest stays the same.
  package let digest: [UInt8]

  package init(_ label: BatchLabel, mutations: [Mutation], database: DatabaseID) {
    self.label = label
    var hash = SHA256()
    for mutation in mutations {
      let encoded = CacheCodec.encode(mutation: mutation, database: database)
      withUnsafeBytes(of: UInt64(encoded.count).littleEndian) { hash.update(bufferPointer: $0) }
      hash.update(data: encoded)
    }
    digest = Array(hash.finalize())
  }

  /// - Throws: INVALID_ARGUMENT that names the rule.
  package init(parsing text: String, mutations: [Mutation], database: DatabaseID) throws(StatusError) {
    guard let label = BatchLabel(parsing: text) else {
      throw StatusError(
        code: .invalidArgument,
        message: "WriteRequest.labels[\"\(WireTranslator.batchLabelName)\"] is \"\(text.prefix(200))\", but must be "
          + "16 hexadecimal digits for the client, \"-\", and 32 for the batch, in lower case.")
    }
    self.init(label, mutations: mutations, database: database)
  }
}
