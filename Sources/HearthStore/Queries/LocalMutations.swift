package import HearthModel

/// Local writes that the backend has not confirmed, as one net mutation per document ("overlay").
///
/// A user sees the stored documents with these mutations applied.
package protocol LocalMutationSource {
  /// The number under which the indexes hold the documents with these mutations; nil if there cannot be any.
  var owner: Int64? { get }
  /// Returns whether a document of the scope has a mutation. May return true without one, but never false with one.
  func hasLocalMutations(in scope: CollectionScope) throws -> Bool
  /// The mutations of all documents in a scope, whether something is stored for them or not.
  func localMutations(in scope: CollectionScope) throws -> [DocumentKey: Mutation]
  /// The mutations of these documents; keys without one are left out.
  func localMutations(for keys: Set<DocumentKey>) throws -> [DocumentKey: Mutation]
}

extension Document {
  /// Lays a net mutation over the document.
  mutating func apply(overlay: Mutation) throws {
    do throws(WireFormatError) {
      // A net mutation holds no transforms any more: pending server timestamps in it carry their own time.
      _ = try overlay.applyToLocalView(
        &self, previousMask: .empty, localWriteTime: Timestamp(seconds: 0, nanoseconds: 0))
    } catch {
      throw StoreError.corrupt("Local mutation of \(key): \(error)")
    }
  }
}
