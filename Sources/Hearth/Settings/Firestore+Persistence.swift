public import Foundation
internal import Synchronization

extension Firestore {
  /// Starts the client with a persistent cache, and reports whether that is possible. (The counterpart of the Web SDK's `enablePersistence`
  /// and `enableMultiTabIndexedDbPersistence`.)
  ///
  /// Persistence is on by default, so no program has to call this. It is for programs that need to know whether the cache is persistent,
  /// and that fall back to a cache in memory if it cannot be:
  ///
  /// ```swift
  /// do {
  ///   try await db.enablePersistence()
  /// } catch FirestoreErrorCode.failedPrecondition {
  ///   // Another process uses this cache, and one of the two does not share it. What is read is kept in memory only.
  /// } catch FirestoreErrorCode.unimplemented {
  ///   // Nothing can be kept here: the folder cannot be written, or the disk is full.
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - directory: The base folder, as in ``PersistentCacheSettings/init(directory:sizeBytes:)``; nil is the platform's.
  ///   - synchronizeProcesses: True to let other processes use the cache at the same time. False keeps other processes out: they get
  ///     `failedPrecondition`.
  ///   - forceOwnership: True to take the cache away from the processes that have it, see ``CacheProcesses/singleForcingOwnership``.
  ///     Together with `synchronizeProcesses` it is `invalidArgument`, and nothing is changed.
  ///   - completion: Called once on the settings' queue, when the cache is open or known to be unavailable: at once, or after five seconds
  ///     if another process does not release its folder. After the errors above, the client runs with a cache in memory. If the object has
  ///     been used before, or if ``FirestoreSettings/cacheSettings`` was set, the error is `failedPrecondition`, too, and nothing is
  ///     changed.
  public func enablePersistence(
    directory: URL? = nil, synchronizeProcesses: Bool = false, forceOwnership: Bool = false,
    completion: (((any Error)?) -> Void)? = nil
  ) {
    openPersistentCache(
      directory, synchronize: synchronizeProcesses, forceOwnership: forceOwnership, onSettingsQueue(completion))
  }

  /// Same as ``enablePersistence(directory:synchronizeProcesses:forceOwnership:completion:)``.
  nonisolated(nonsending) public func enablePersistence(
    directory: URL? = nil, synchronizeProcesses: Bool = false, forceOwnership: Bool = false
  ) async throws {
    try await outcome { finish in
      openPersistentCache(directory, synchronize: synchronizeProcesses, forceOwnership: forceOwnership, finish)
    }
  }

  private func openPersistentCache(
    _ directory: URL?, synchronize: Bool, forceOwnership: Bool, in function: StaticString = #function,
    _ completion: @escaping @Sendable (NSError?) -> Void
  ) {
    guard !synchronize || !forceOwnership else {
      return completion(
        .firestore(
          .invalidArgument,
          "A cache is either taken away from other processes or shared with them: forceOwnership and "
            + "synchronizeProcesses exclude each other."))
    }
    let processes: CacheProcesses = synchronize ? .multiple : forceOwnership ? .singleForcingOwnership : .single
    if let directory {
      requireValid(in: function) { () throws(ProgrammingError) in
        try PersistentCacheSettings.validate(directory: directory)
      }
    }
    if let refusal = startPersistent(in: directory, processes, completion) { completion(refusal) }
  }

  /// - Returns: The error if the client has started already or has other settings; the completion is then not called.
  private func startPersistent(
    in directory: URL?, _ processes: CacheProcesses, _ completion: @escaping @Sendable (NSError?) -> Void
  ) -> NSError? {
    while true {
      let (refusal, former, changeCount) = state.withLock {
        (persistenceRefusal($0), $0.settings, $0.settingsChangeCount)
      }
      if let refusal { return refusal }
      var settings = former
      settings.usePersistentCache(in: directory, processes)
      let prepared = preparedRuntime(settings) { [self] error in
        if error != nil { self.state.withLock { $0.settings.useMemoryCache() } }
        completion(error.map { .firestore(persistence: $0) })
      }
      if start(prepared, changeCount: changeCount, newSettings: settings) { return nil }
    }
  }

  private func persistenceRefusal(_ state: State) -> NSError? {
    guard case .configured = state.phase else {
      return .firestore(
        .failedPrecondition,
        """
        Firestore has already been started and persistence can no longer be enabled. You can only enable persistence before \
        calling any other methods on a Firestore object.
        """)
    }
    guard state.settings.explicitCache == nil else {
      return .firestore(.failedPrecondition, "SDK cache is already specified.")
    }
    return nil
  }
}

extension SettingsValues {
  /// A cache on disk, of the size that was set with the old properties.
  fileprivate mutating func usePersistentCache(in directory: URL?, _ processes: CacheProcesses) {
    let sizeBytes = NSNumber(value: legacyCacheSizeBytes)
    legacyPersistenceEnabled = true
    legacyCacheSizeBytes = CacheSize.defaultBytes
    explicitCache = .persistent(
      PersistentCacheSettings(directory: directory, sizeBytes: sizeBytes, processes: processes))
  }

  /// Logs which kind of cache the client uses.
  fileprivate mutating func useMemoryCache() {
    legacyPersistenceEnabled = true
    legacyCacheSizeBytes = CacheSize.defaultBytes
    explicitCache = .memory(.leastRecentlyUsed(sizeBytes: CacheSize.defaultBytes))
  }
}
