public import Foundation
internal import Synchronization

extension Firestore {
  /// Starts the client with a cache that outlives the program, and reports whether that is possible. (The counterpart of the Web SDK's
  /// `enablePersistence` and `enableMultiTabIndexedDbPersistence`.)
  ///
  /// Persistence is on by default, so no program has to call this. It is for programs that need to know, and that fall back to a cache in
  /// memory where nothing can be stored:
  ///
  /// ```swift
  /// do {
  ///   try await db.enablePersistence()
  /// } catch FirestoreErrorCode.failedPrecondition {
  ///   // Another process uses this cache. What is read is kept in memory only.
  /// } catch FirestoreErrorCode.unimplemented {
  ///   // Nothing can be kept here: the folder cannot be written, or the disk is full.
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - directory: The base folder, as in ``PersistentCacheSettings/init(directory:sizeBytes:)``; nil is the platform's.
  ///   - synchronizeProcesses: True to let other processes use the cache at the same time. Not supported yet: `unimplemented`.
  ///   - forceOwnership: True to take the cache away from the process that has it. Not supported yet: `unimplemented`.
  ///   - completion: Called once on the settings' queue, when the cache is open or when it is known that it cannot be opened: at
  ///     once, or after five seconds in which another process did not leave its folder. After the errors that were described the
  ///     client runs with a cache in memory. It is `failedPrecondition`, too, and nothing is changed, when the object has been used
  ///     before, and when ``FirestoreSettings/cacheSettings`` were set.
  public func enablePersistence(
    directory: URL? = nil, synchronizeProcesses: Bool = false, forceOwnership: Bool = false,
    completion: (((any Error)?) -> Void)? = nil
  ) {
    openPersistentCache(
      directory, CacheProcesses(synchronize: synchronizeProcesses, forceOwnership: forceOwnership),
      onSettingsQueue(completion))
  }

  /// Same as ``enablePersistence(directory:synchronizeProcesses:forceOwnership:completion:)``.
  nonisolated(nonsending) public func enablePersistence(
    directory: URL? = nil, synchronizeProcesses: Bool = false, forceOwnership: Bool = false
  ) async throws {
    try await outcome { finish in
      openPersistentCache(
        directory, CacheProcesses(synchronize: synchronizeProcesses, forceOwnership: forceOwnership), finish)
    }
  }

  private func openPersistentCache(
    _ directory: URL?, _ processes: CacheProcesses, _ completion: @escaping @Sendable (NSError?) -> Void
  ) {
    if let directory {
      requireValid { () throws(ProgrammingError) in try PersistentCacheSettings.validate(directory: directory) }
    }
    let refusal = state.withLock { state -> NSError? in
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
      if let missing = processes.missingFeature {
        state.settings.useMemoryCache()
        state.phase = .running(makeRuntime(state.settings, cacheOpened: nil))
        return .firestore(.unimplemented, missing)
      }
      state.settings.usePersistentCache(in: directory)
      let runtime = makeRuntime(state.settings) { [self] error in
        if error != nil { self.state.withLock { $0.settings.useMemoryCache() } }
        completion(error.map { .firestore(persistence: $0) })
      }
      state.phase = .running(runtime)
      return nil
    }
    if let refusal { completion(refusal) }
  }
}

extension CacheProcesses {
  fileprivate init(synchronize: Bool, forceOwnership: Bool) {
    self = synchronize ? .multiple : forceOwnership ? .singleForcingOwnership : .single
  }
}

extension SettingsValues {
  /// A cache on disk, of the size that was set with the old properties.
  fileprivate mutating func usePersistentCache(in directory: URL?) {
    let sizeBytes = NSNumber(value: legacyCacheSizeBytes)
    legacyPersistenceEnabled = true
    legacyCacheSizeBytes = CacheSize.defaultBytes
    explicitCache = .persistent(PersistentCacheSettings(directory: directory, sizeBytes: sizeBytes, processes: .single))
  }

  /// Logs which kind of cache the client uses.
  fileprivate mutating func useMemoryCache() {
    legacyPersistenceEnabled = true
    legacyCacheSizeBytes = CacheSize.defaultBytes
    explicitCache = .memory(.leastRecentlyUsed(sizeBytes: CacheSize.defaultBytes))
  }
}
