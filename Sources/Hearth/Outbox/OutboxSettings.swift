internal import HearthCache
internal import HearthSync

/// The treatment of writes that the backend refuses. See ``FirestoreSettings/outbox``.
public struct OutboxSettings: Sendable, Hashable {
  /// The condition for moving a batch out of the way that is too large for the backend.
  public struct UndeliverablePolicy: Sendable, Hashable {
    /// The batch moves to ``Firestore/rejectedWrites`` after so many refusals in a row; at least 1.
    public var afterRefusals: Int
    /// Only a batch that takes at least this many bytes in the outbox is moved; at least 0. An exhausted quota has the same code, and must
    /// not move small batches.
    public var largerThanBytes: Int

    /// Makes a policy. Numbers below the minimum count as the minimum.
    public init(afterRefusals: Int, largerThanBytes: Int) {
      self.afterRefusals = max(1, afterRefusals)
      self.largerThanBytes = max(0, largerThanBytes)
    }
  }

  /// The number of refused writes that are kept for each user; the oldest are removed first. 0 keeps none, as the official SDKs do.
  /// Default: 1,000.
  public var rejectedWriteLimit = 1000

  /// The age at which a refused write is removed when another write is refused. Default: 30 days.
  ///
  /// Time follows the device's clock, but advances by at most a day between two writes whose refusal or outcome is stored. So a clock that
  /// is wrong for a while removes nothing. A refused write is never removed for its age before this time has passed, and may be kept
  /// longer.
  public var rejectedWriteAge: Duration = .seconds(30 * 24 * 3600)

  /// Default: nil. A batch that the backend answers with `resourceExhausted` is then retried without end, as the official SDKs do, and all
  /// later writes wait.
  public var undeliverable: UndeliverablePolicy?

  /// Makes settings with all defaults.
  public init() {}

  var rejectedBatchLimits: RejectedBatchLimits {
    RejectedBatchLimits(
      count: Int64(max(0, rejectedWriteLimit)), ageSeconds: max(0, rejectedWriteAge.components.seconds))
  }

  var undeliverableWrites: UndeliverableWritePolicy? {
    undeliverable.map {
      UndeliverableWritePolicy(afterRefusals: $0.afterRefusals, largerThanBytes: $0.largerThanBytes)
    }
  }
}
