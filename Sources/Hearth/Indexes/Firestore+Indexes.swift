public import Foundation
internal import HearthModel

extension Firestore {
  // MARK: - Configuration

  /// Declares the indexes of the cache, in the JSON that the Firebase CLI exports (`firebase firestore:indexes`).
  ///
  /// ```swift
  /// try await db.setIndexConfiguration(
  ///   """
  ///   {"indexes": [{"collectionGroup": "cities", "fields": [
  ///     {"fieldPath": "state", "order": "ASCENDING"}, {"fieldPath": "population", "order": "DESCENDING"}]}]}
  ///   """)
  /// ```
  ///
  /// The configuration replaces the one before. Indexes in both keep their entries; all others are removed, including automatic ones.
  /// Definitions and entries survive a restart. `queryScope`, `fieldOverrides` and unknown members have no effect. Documents that are
  /// already in the cache are entered in the background; queries give correct results while that runs. Works offline. With a memory cache
  /// nothing happens and the call succeeds.
  ///
  /// - Parameters:
  ///   - json: The text of an index file.
  ///   - completion: Called on the settings' queue when the configuration is saved, or with `invalidArgument`: "Invalid Json format." and
  ///     the position for malformed JSON, and the path of the member, such as `indexes[2].fields[0].fieldPath`, for JSON that is not a
  ///     configuration. After an error the indexes are unchanged.
  public func setIndexConfiguration(_ json: String, completion: (((any Error)?) -> Void)? = nil) {
    setIndexes(json, onCallbackQueue(completion))
  }

  /// Same as ``setIndexConfiguration(_:completion:)-(String,_)``.
  nonisolated(nonsending) public func setIndexConfiguration(_ json: String) async throws {
    try await outcome { setIndexes(json, $0) }
  }

  /// Same as ``setIndexConfiguration(_:completion:)-(String,_)``, but reads a stream. The stream is opened, read to its end on a background
  /// queue, and closed. If it cannot be read, the error is `unknown`.
  public func setIndexConfiguration(_ stream: InputStream, completion: (((any Error)?) -> Void)? = nil) {
    setIndexes(stream, onCallbackQueue(completion))
  }

  /// Same as ``setIndexConfiguration(_:completion:)-(InputStream,_)``.
  nonisolated(nonsending) public func setIndexConfiguration(_ stream: InputStream) async throws {
    try await outcome { setIndexes(stream, $0) }
  }

  /// Declares the indexes of the cache as ``setIndexConfiguration(_:completion:)-(String,_)`` does, without JSON.
  ///
  /// ```swift
  /// try await db.setIndexConfiguration(indexes: [
  ///   FirestoreIndex(
  ///     collectionGroup: "cities",
  ///     fields: [.init(fieldPath: "state", order: .ascending), .init(fieldPath: "population", order: .descending)])
  /// ])
  /// ```
  ///
  /// - Parameters:
  ///   - indexes: All indexes that the cache should have; all others are removed, including automatic ones.
  ///   - fieldOverrides: Has no effect on the cache.
  /// - Throws: `invalidArgument` with the place of an invalid value, such as `indexes[0].fields[1].fieldPath`; errors of the cache's file.
  ///   After an error the indexes are unchanged.
  nonisolated(nonsending) public func setIndexConfiguration(
    indexes: [FirestoreIndex], fieldOverrides: [FirestoreIndex.FieldOverrides] = []
  ) async throws {
    let configuration = IndexConfiguration(
      entries: indexes.map { index in
        IndexConfiguration.Entry(
          collectionGroup: index.collectionGroup,
          fields: index.fields.map {
            IndexConfiguration.Field(
              path: $0.fieldPath, order: $0.order?.rawValue, arrayConfig: $0.arrayConfig?.rawValue)
          })
      })
    let runtime = runtime()
    try await outcome { finish in
      Self.setIndexes(runtime, finish) { () throws(IndexConfigurationError) in try configuration.definitions() }
    }
  }

  private func setIndexes(
    _ json: String, in function: StaticString = #function, _ completion: @escaping @Sendable (NSError?) -> Void
  ) {
    Self.setIndexes(runtime(in: function), Array(json.utf8), completion)
  }

  private func setIndexes(
    _ stream: InputStream, in function: StaticString = #function, _ completion: @escaping @Sendable (NSError?) -> Void
  ) {
    // Looked up here and not when the stream has been read, because the client may have been terminated by then.
    let runtime = runtime(in: function)
    let stream = UncheckedSendableBox(stream)
    DispatchQueue.global(qos: .utility).async {
      do {
        Self.setIndexes(runtime, try stream.value.indexConfiguration(), completion)
      } catch {
        completion(.firestore(error))
      }
    }
  }

  private static func setIndexes(
    _ runtime: ClientRuntime, _ json: [UInt8], _ completion: @escaping @Sendable (NSError?) -> Void
  ) {
    setIndexes(runtime, completion) { () throws(IndexConfigurationError) in
      try IndexConfiguration(json: json).definitions()
    }
  }

  private static func setIndexes(
    _ runtime: ClientRuntime, _ completion: @escaping @Sendable (NSError?) -> Void,
    _ definitions: () throws(IndexConfigurationError) -> [IndexDefinition]
  ) {
    do throws(IndexConfigurationError) {
      runtime.setIndexes(try definitions(), completion)
    } catch {
      HearthLog.error("The indexes stay as they are. \(error)")
      completion(.firestore(.invalidArgument, error.description))
    }
  }

  // MARK: - Management

  /// The manager of automatic indexes and of the list of indexes; nil with a memory cache, which has none.
  ///
  /// It is the same object each time. Reading the property counts as the first use: it fixes the ``settings``.
  public var persistentCacheIndexManager: PersistentCacheIndexManager? {
    _ = runtime()
    return indexManager()
  }
}

extension InputStream {
  /// The bytes of the stream, up to the size at which it is known to be too long.
  fileprivate func indexConfiguration() throws -> [UInt8] {
    open()
    defer { close() }
    var contents: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    while contents.count <= IndexConfiguration.maximumJSONBytes {
      let count = read(&piece, maxLength: piece.count)
      if count < 0 {
        let reason = streamError?.localizedDescription ?? "no reason is given"
        throw NSError.firestore(.unknown, "The index configuration's stream cannot be read: \(reason)")
      }
      guard count > 0 else { break }
      contents += piece.prefix(count)
    }
    return contents
  }
}
