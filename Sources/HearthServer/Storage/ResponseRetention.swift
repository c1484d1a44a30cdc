/// The limits of the stored answers to labelled requests. When one is exceeded, each commit that adds an answer removes a few of the oldest ones.
struct ResponseRetention: Sendable {
  /// The maximum age, by commit times, which never decrease.
  var microseconds: Int64 = 30 * 24 * 3_600_000_000
  /// A cache has at most 10 batches in flight. The rest is for copies of it, which count as the same client.
  var countPerClient: Int64 = 1_024
  /// The maximum size of the answers of one client: more than 10 batches of the largest size have.
  var bytesPerClient: Int64 = 32 * 1024 * 1024
  var count: Int64 = 1_000_000
  /// The maximum size of the answers of all clients.
  var bytes: Int64 = 256 * 1024 * 1024

  /// The bounds of a client, or of those many that count as one.
  func share(ofMany: Bool) -> (count: Int64, bytes: Int64) {
    ofMany ? (count / 2, bytes / 2) : (countPerClient, bytesPerClient)
  }

  /// The number of answers that are not taken from a client for others before they are the oldest of all. A cache has at most 10 batches in
  /// flight. The schema depends on it.
  static let fairCount = 32
  /// Counted for each answer of a client in addition to its bytes: its row, and its entries in indexes. The schema depends on it.
  static let bytesPerAnswer = 256
}
