/// The limits of the change log.
struct HistoryRetention: Sendable {
  /// The age of the history that is kept, in microseconds of commit times.
  var microseconds: Int64 = 3_600_000_000
  /// The size of the documents in the log. Beyond it, history is dropped before its time.
  var bytes: Int64 = 1 << 30
}

extension HistoryRetention {
  init(_ limits: DatabaseLimits) {
    let time = limits.historyTime.components
    self.init(
      microseconds: time.seconds * 1_000_000 + time.attoseconds / 1_000_000_000_000, bytes: Int64(limits.historyBytes))
  }
}
