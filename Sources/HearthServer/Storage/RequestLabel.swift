internal import Crypto
internal import HearthModel
internal import HearthWire

/// The identity of a labelled request of a write stream: its client's label, and a digest of the contents of its writes. So a client can
/// repeat a request whose answer was lost, and the request is applied once.
///
/// A request is a repetition only if both agree. A request with a known label and different writes is applied, so a client that breaks the
/// rule and uses a label twice loses no write.
struct RequestLabel: Hashable, Sendable {
  let label: BatchLabel
  /// SHA-256 of the writes without their preconditions, in the order of the request, with fields in the encoding of the request. Clients
  /// repeat a batch as they have stored it, so its digest stays the same.
  ///
  /// Preconditions are left out because they say when a write may be carried out, and this one has been: a client that repeats it under
  /// another condition, for instance because its rules for conflicts have changed, must not have it carried out again.
  private(set) var digest: [UInt8]
  /// The client that has a share of ``BatchResponses``: that of the label. All callers but the owner could invent any number of clients, so each
  /// of these callers is one.
  private(set) var client: UInt64
  /// True if many share it: those whom nothing tells apart.
  private(set) var isOfMany = false

  init(_ label: BatchLabel, mutations: [Mutation], database: DatabaseID) {
    self.label = label
    client = label.client
    let contents = mutations.map { mutation in
      var content = mutation
      content.precondition = .none
      return content
    }
    digest = Self.digest(of: contents, in: database)
  }

  /// The label as one of a caller's own: for another caller neither a repetition nor a request of the same client.
  ///
  /// - Parameters:
  ///   - caller: The same text for all calls of a caller; empty for the owner, whose labels stay as they are.
  ///   - ofMany: True if the text stands for many.
  func bound(to caller: String, ofMany: Bool) -> RequestLabel {
    guard !caller.isEmpty else { return self }
    let name = Array(caller.utf8)
    var hash = SHA256()
    hash.update(data: digest)
    hash.update(data: name)
    var bound = self
    bound.digest = Array(hash.finalize())
    bound.client = SHA256.hash(data: name).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    bound.isOfMany = ofMany
    return bound
  }

  /// SHA-256 of the writes in their order, with their preconditions.
  static func digest(of mutations: [Mutation], in database: DatabaseID) -> [UInt8] {
    var hash = SHA256()
    for mutation in mutations {
      let encoded = CacheCodec.encode(mutation: mutation, database: database)
      withUnsafeBytes(of: UInt64(encoded.count).littleEndian) { hash.update(bufferPointer: $0) }
      hash.update(data: encoded)
    }
    return Array(hash.finalize())
  }

  /// - Throws: INVALID_ARGUMENT that names the rule.
  init(parsing text: String, mutations: [Mutation], database: DatabaseID) throws(StatusError) {
    guard let label = BatchLabel(parsing: text) else {
      throw StatusError(
        code: .invalidArgument,
        message: "WriteRequest.labels[\"\(WireTranslator.batchLabelName)\"] is \"\(text.prefix(200))\", but must be "
          + "16 hexadecimal digits for the client, \"-\", and 32 for the batch, in lower case.")
    }
    self.init(label, mutations: mutations, database: database)
  }
}
