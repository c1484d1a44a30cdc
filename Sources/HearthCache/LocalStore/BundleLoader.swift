package import HearthModel
internal import HearthWire

/// Reads a bundle as its bytes arrive, and passes it to the cache when it is complete.
///
/// Until then the cache is not touched, so that a malformed bundle changes nothing. The elements read so far are kept in memory.
package struct BundleLoader {
  private let localStore: LocalStore
  private var reader: BundleReader
  private var metadata: BundleMetadata?
  private var queries: [NamedQuery] = []
  private var documents: [BundledDocument] = []
  /// The last progress that was reported.
  private var reported: BundleProgress?
  /// The metadata of a document whose contents have not come yet.
  private var openMetadata: BundledDocumentMetadata?
  private var progress = BundleProgress(
    documentsLoaded: 0, totalDocuments: 0, bytesLoaded: 0, totalBytes: 0, state: .inProgress)

  package init(localStore: LocalStore) {
    self.localStore = localStore
    reader = BundleReader(databaseID: localStore.databaseID)
  }

  /// Takes the next bytes.
  ///
  /// - Parameter report: Called with the progress after each document, and once at the beginning; also before an error is thrown.
  /// - Returns: True if more is needed; false says that the bundle has been loaded before.
  /// - Throws: `StatusError` `invalidArgument` for what is not a bundle of this database, naming element and byte; `StoreError` and
  ///   `CacheError`.
  package mutating func append(
    _ bytes: some Sequence<UInt8>, report: (BundleProgress) -> Void
  ) throws -> Bool {
    reader.append(bytes)
    do {
      return try takeElements(report)
    } catch let error as BundleError {
      throw StatusError(code: .invalidArgument, message: error.description)
    }
  }

  private mutating func takeElements(_ report: (BundleProgress) -> Void) throws -> Bool {
    while let sized = try reader.next() {
      guard let step = try take(sized) else { continue }
      report(step)
      reported = step
      if step.state == .success { return false }
    }
    return true
  }

  /// The progress of reading the bundle; without totals until its metadata is read.
  package var currentProgress: BundleProgress { reported ?? progress }

  /// The progress of a loading that has failed: as far as it had been reported (firebase-ios-sdk load_bundle_task.cc, SetError).
  package var failure: BundleProgress {
    var failure = reported ?? .failed
    failure.state = .failed
    return failure
  }

  /// Puts the complete bundle into the cache.
  ///
  /// - Returns: the documents that changed, as the local view now has them, and the final progress.
  /// - Throws: As ``append(_:report:)``; `unknown` for an empty bundle (firebase-ios-sdk FIRBundlesTests, testLoadBundleFromEmptyDataFails).
  package mutating func finish() throws -> (changes: DocumentMap, progress: BundleProgress) {
    do {
      return try storeEverything()
    } catch let error as BundleError {
      throw StatusError(code: .invalidArgument, message: error.description)
    }
  }

  private mutating func storeEverything() throws -> (changes: DocumentMap, progress: BundleProgress) {
    try reader.finish()
    guard let metadata else { throw StatusError(code: .unknown, message: "The bundle is empty.") }
    if let openMetadata {
      throw reader.failure("the bundle ends where the contents of document \(openMetadata.key) are expected")
    }
    guard documents.count == metadata.totalDocuments else {
      throw reader.failure(
        "the bundle ends after \(documents.count) documents; its metadata says that it has \(metadata.totalDocuments)")
    }
    let changes = try localStore.apply(metadata, documents: documents, queries: queries)
    progress.state = .success
    return (changes, progress)
  }

  private mutating func take(_ sized: BundleReader.Sized) throws -> BundleProgress? {
    guard metadata != nil else {
      guard case .metadata(let first) = sized.element else {
        throw sized.failure("it must be the bundle's metadata")
      }
      return try begin(first)
    }
    progress.bytesLoaded += sized.byteCount
    if let openMetadata {
      guard case .document(let document) = sized.element, document.key == openMetadata.key else {
        throw sized.failure("the contents of document \(openMetadata.key) must follow its metadata")
      }
      self.openMetadata = nil
      return add(BundledDocument(metadata: openMetadata, document: document))
    }
    switch sized.element {
    case .metadata: throw sized.failure("the bundle has its metadata twice")
    case .namedQuery(let query): queries.append(query)
    case .documentMetadata(let metadata):
      if metadata.exists {
        openMetadata = metadata
      } else {
        return add(
          BundledDocument(metadata: metadata, document: .missing(metadata.key, version: metadata.readTime)))
      }
    case .document(let document):
      throw sized.failure("the contents of document \(document.key) do not follow its metadata")
    }
    return nil
  }

  private mutating func begin(_ metadata: BundleMetadata) throws -> BundleProgress {
    self.metadata = metadata
    progress.totalDocuments = metadata.totalDocuments
    progress.totalBytes = metadata.totalBytes
    guard try localStore.bundles.hasBundle(metadata) else { return progress }
    return BundleProgress(
      documentsLoaded: metadata.totalDocuments, totalDocuments: metadata.totalDocuments,
      bytesLoaded: metadata.totalBytes, totalBytes: metadata.totalBytes, state: .success)
  }

  private mutating func add(_ document: BundledDocument) -> BundleProgress {
    documents.append(document)
    progress.documentsLoaded += 1
    return progress
  }
}
