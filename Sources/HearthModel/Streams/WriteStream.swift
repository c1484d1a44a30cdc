/// A message of the client on the write stream.
package enum WriteRequest: Equatable, Sendable {
  /// Opens the stream; the answer carries the first stream token.
  case handshake
  /// One batch, to be committed as a whole. An empty one ends the stream properly.
  ///
  /// The label (the text of a ``BatchLabel``) names the batch permanently, across connections and restarts: a backend that knows labels
  /// answers a batch that it has committed before with the answer of that time instead of committing it again. Nil for a request without
  /// writes, and for a backend that has not announced that it knows labels.
  case writes([Mutation], streamToken: [UInt8], batchLabel: String?)
}

/// An answer of the backend on the write stream: first to the handshake, then to each batch, in order.
package struct WriteResponse: Equatable, Sendable {
  package var streamToken: [UInt8]
  /// ``SnapshotVersion/none`` in the answer to the handshake.
  package var commitVersion: SnapshotVersion
  package var results: [MutationResult]
  /// True if the answer to the handshake announces that the backend knows the labels of batches.
  package var knowsBatchLabels: Bool

  package init(
    streamToken: [UInt8], commitVersion: SnapshotVersion = .none, results: [MutationResult] = [],
    knowsBatchLabels: Bool = false
  ) {
    self.streamToken = streamToken
    self.knowsBatchLabels = knowsBatchLabels
    self.commitVersion = commitVersion
    self.results = results
  }
}
