internal import Foundation
internal import HearthModel
internal import Synchronization

/// A client that can be started.
enum PreparedRuntime {
  case ready(ClientConfiguration)
  /// Each operation reports the error.
  case failing(NSError, DispatchQueue, cacheOpened: (@Sendable ((any Error)?) -> Void)?)

  /// Calls nothing of the application.
  func start() -> ClientRuntime {
    switch self {
    case .ready(let configuration):
      return ClientRuntime(configuration)
    case .failing(let error, let queue, let cacheOpened):
      // Deferred, because the caller holds a lock that this closure takes.
      if let cacheOpened { queue.async { cacheOpened(error) } }
      return ClientRuntime(failing: error, callbackQueue: queue)
    }
  }
}

extension Firestore {
  /// The running client, started if this is the first use.
  ///
  /// - Parameter function: The call that needs it, for the message of a programming error.
  func runtime(in function: StaticString = #function) -> ClientRuntime {
    requireValid(in: function) { () throws(ProgrammingError) in try startedRuntime() }
  }

  func startedRuntime() throws(ProgrammingError) -> ClientRuntime {
    while true {
      let known = state.withLock { state -> (runtime: ClientRuntime?, settings: SettingsValues?, changeCount: Int) in
        switch state.phase {
        case .running(let runtime): (runtime, nil, 0)
        case .terminated: (nil, nil, 0)
        case .configured: (nil, state.settings, state.settingsChangeCount)
        }
      }
      if let runtime = known.runtime { return runtime }
      guard let settings = known.settings else { throw ProgrammingError("The client has already been terminated.") }
      start(preparedRuntime(settings), changeCount: known.changeCount)
    }
  }

  /// Starts a client that was prepared without the lock, unless another thread has started one or changed the settings in between.
  ///
  /// - Parameters:
  ///   - changeCount: The number of changes of the settings at the preparation.
  ///   - newSettings: The settings that the client was prepared with, if they replace the present ones.
  /// - Returns: True if this client was started.
  @discardableResult
  func start(_ prepared: PreparedRuntime, changeCount: Int, newSettings: SettingsValues? = nil) -> Bool {
    state.withLock { state in
      guard case .configured = state.phase, state.settingsChangeCount == changeCount else { return false }
      if let newSettings { state.settings = newSettings }
      state.phase = .running(prepared.start())
      return true
    }
  }

  /// Prepares a client: reads the files that the settings name, and makes its metrics.
  ///
  /// Called without the lock of `state`, which every operation takes: the program's log handler and metrics backend are called, and may
  /// wait for another thread that uses this object.
  ///
  /// - Parameter cacheOpened: As in ``ClientConfiguration/cacheOpened``.
  func preparedRuntime(
    _ settings: SettingsValues, cacheOpened: (@Sendable ((any Error)?) -> Void)? = nil
  ) -> PreparedRuntime {
    do {
      var configuration = try configuration(settings, environment: ProcessInfo.processInfo.environment)
      configuration.cacheOpened = cacheOpened
      return .ready(configuration)
    } catch let error as ProgrammingError {
      // The environment is not the program's fault, so this is no reason to stop it.
      return .failing(.firestore(.invalidArgument, error.message), settings.dispatchQueue, cacheOpened: cacheOpened)
    } catch {
      return .failing(.firestore(error), settings.dispatchQueue, cacheOpened: cacheOpened)
    }
  }

  /// - Throws: The errors in the environment and in the files that the settings name.
  func configuration(_ settings: SettingsValues, environment: [String: String]) throws -> ClientConfiguration {
    let options = app.options
    if let fault = options.fault { throw NSError.firestore(.failedPrecondition, fault) }
    if let fault = databaseID.nameFault { throw NSError.firestore(.invalidArgument, fault) }
    let endpoint = try settings.endpoint(environment: environment)
    if endpoint.usesTLS { try TrustedCertificates.check(settings.trustedCertificateFiles) }
    var configuration = ClientConfiguration(
      databaseID: databaseID, googleAppID: options.headerAppID, endpoint: endpoint, cache: cache(settings, environment),
      cacheSharing: settings.cacheSharing, outbox: settings.outbox,
      conflicts: ConflictSettings(settings.conflictRules, firestore: self), callbackQueue: settings.dispatchQueue,
      credentials: try ClientCredentials(settings, endpoint: endpoint, environment: environment),
      trustedCertificateFiles: settings.trustedCertificateFiles)
    configuration.instruments = ClientInstruments(InstrumentSources(), databaseID: databaseID)
    return configuration
  }

  private func cache(_ settings: SettingsValues, _ environment: [String: String]) -> ClientConfiguration.Cache {
    switch settings.cache {
    case .memory(let collector):
      .memory(collector)
    case .persistent(let cache):
      .file(
        folder: CacheFolder.path(
          base: cache.directory, app: app.name, projectID: databaseID.projectID, database: databaseID.database,
          environment: environment),
        sizeBytes: cache.sizeBytes)
    }
  }

  /// The folder of a persistent cache, whether the client runs or not.
  var cacheFolder: String? {
    let settings = state.withLock { $0.settings }
    guard case .file(let folder, _) = cache(settings, ProcessInfo.processInfo.environment) else { return nil }
    return folder
  }
}
