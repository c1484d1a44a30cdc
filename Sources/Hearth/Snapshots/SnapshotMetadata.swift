public import Foundation

/// The origin of a snapshot's data, and whether it contains writes that the backend has not acknowledged.
///
/// A listener is called for changes of the metadata alone only if it asks for them. Otherwise `isFromCache` may stay true in its last
/// snapshot although the backend has confirmed the data.
public final class SnapshotMetadata: NSObject, Sendable {
  /// True if the snapshot shows local writes that the backend has not yet acknowledged and sent back.
  public let hasPendingWrites: Bool
  /// True if the snapshot was made from the cache and may be incomplete or outdated; false if the backend confirmed that it is
  /// complete and current.
  ///
  /// A listener to the cache gets false only while a listener to the backend, or a read, keeps the same query current. The end of that is
  /// not reported at once, but with the next change. If backend and client permanently disagree whether a document belongs to a query, it
  /// stays true; one-time reads are answered nevertheless, once the backend has confirmed the document individually.
  public let isFromCache: Bool

  init(hasPendingWrites: Bool, isFromCache: Bool) {
    self.hasPendingWrites = hasPendingWrites
    self.isFromCache = isFromCache
  }

  /// Two metadata are equal when both properties are.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? SnapshotMetadata else { return false }
    return hasPendingWrites == other.hasPendingWrites && isFromCache == other.isFromCache
  }

  /// A hash of both properties.
  public override var hash: Int { (hasPendingWrites ? 2 : 0) + (isFromCache ? 1 : 0) }

  /// Both properties, for logs.
  public override var description: String {
    "<SnapshotMetadata: hasPendingWrites=\(hasPendingWrites) isFromCache=\(isFromCache)>"
  }
}
