package import HearthModel

/// An earlier state of the stored documents, for a query: the documents that have not changed since, and the former versions of those that
/// have.
package struct EarlierState {
  let version: SnapshotVersion
  /// Passes the documents that have changed since the version, as they were at it. It may be asked more than once.
  let forEachFormer: (_ add: (Document) throws -> Void) throws -> Void

  /// - Parameter forEachFormer: Passes only documents that match the query.
  package init(
    version: SnapshotVersion, forEachFormer: @escaping (_ add: (Document) throws -> Void) throws -> Void
  ) {
    self.version = version
    self.forEachFormer = forEachFormer
  }
}
