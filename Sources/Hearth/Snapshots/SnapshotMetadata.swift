public import Foundation

/// The origin of a snapshot's data, and whether they contain writes that the backend has not acknowledged.
///
/// A listener is called for changes of the metadata alone only if it asks for them; otherwise it may show `isFromCache` permanently
/// although the backend has confirmed its data.
public final class SnapshotMetadata: NSObject, Sendable {
  /// True if the snapshot shows local writes that the backend has not yet acknowledged and sent back.
  public let hasPendingWrites: Bool
  /// True if the snapshot was made from the cache and may be incomplete or outdated; false if the backend confirmed that it is
  /// complete and current.
  ///
  /// A listener to the cache has false only while one to the backend, or a read, keeps the same query current; that this ends is not
  /// reported by itself, but with the next change. Where backend and client disagree for good whether a document belongs to a query, it
  /// stays true; one-time reads are answered all the same, once the backend has confirmed the document by itself.
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
