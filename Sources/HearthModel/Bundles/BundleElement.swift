/// The metadata of a bundle: its first element.
package struct BundleMetadata: Equatable, Sendable {
  package var id: String
  /// The time when the bundle was made. If two bundles have the same id, the later one counts.
  package var createTime: SnapshotVersion
  /// Version of the format.
  package var version: Int
  package var totalDocuments: Int
  /// Length of everything after this element, in bytes.
  package var totalBytes: Int

  package init(id: String, createTime: SnapshotVersion, version: Int, totalDocuments: Int, totalBytes: Int) {
    self.id = id
    self.createTime = createTime
    self.version = version
    self.totalDocuments = totalDocuments
    self.totalBytes = totalBytes
  }
}

/// A named query of a bundle.
package struct NamedQuery: Equatable, Sendable {
  package var name: String
  package var query: Query
  /// The time when the backend ran the query for the bundle.
  package var readTime: SnapshotVersion

  package init(name: String, query: Query, readTime: SnapshotVersion) {
    self.name = name
    self.query = query
    self.readTime = readTime
  }
}

/// The metadata of a document in a bundle; its contents follow in the next element.
package struct BundledDocumentMetadata: Equatable, Sendable {
  package var key: DocumentKey
  package var readTime: SnapshotVersion
  package var exists: Bool
  /// The names of the bundle's queries in whose results the document is.
  package var queries: [String]

  package init(key: DocumentKey, readTime: SnapshotVersion, exists: Bool, queries: [String]) {
    self.key = key
    self.readTime = readTime
    self.exists = exists
    self.queries = queries
  }
}

/// A document of a bundle: found at its update time, or missing at the read time.
package struct BundledDocument: Equatable, Sendable {
  package var metadata: BundledDocumentMetadata
  package var document: Document

  package init(metadata: BundledDocumentMetadata, document: Document) {
    self.metadata = metadata
    self.document = document
  }
}

/// One element of a bundle.
package enum BundleElement: Equatable, Sendable {
  case metadata(BundleMetadata)
  case namedQuery(NamedQuery)
  case documentMetadata(BundledDocumentMetadata)
  case document(Document)
}

/// The progress of loading a bundle.
package struct BundleProgress: Equatable, Sendable {
  package enum State: Equatable, Sendable {
    case inProgress, success, failed
  }

  package var documentsLoaded: Int
  package var totalDocuments: Int
  package var bytesLoaded: Int
  package var totalBytes: Int
  package var state: State

  package init(documentsLoaded: Int, totalDocuments: Int, bytesLoaded: Int, totalBytes: Int, state: State) {
    self.documentsLoaded = documentsLoaded
    self.totalDocuments = totalDocuments
    self.bytesLoaded = bytesLoaded
    self.totalBytes = totalBytes
    self.state = state
  }

  /// The progress reported for a bundle that fails before its first element is loaded.
  package static let failed = BundleProgress(
    documentsLoaded: 0, totalDocuments: 0, bytesLoaded: 0, totalBytes: 0, state: .failed)
}
