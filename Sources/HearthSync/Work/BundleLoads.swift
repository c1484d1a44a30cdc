internal import HearthCache
internal import HearthModel

/// The bundles that are being loaded.
///
/// | event | unknown | reading |
/// |---|---|---|
/// | bytes, incomplete | reading | - |
/// | bytes that show that it was loaded before | reported | reported; unknown |
/// | bytes that cannot be read | reported | reported; unknown |
/// | the source ends | loaded or failed | loaded or failed; unknown |
///
/// No bytes may arrive for a bundle whose end was reported, because they would start a new load.
struct BundleLoads {
  private let makeLoader: () -> BundleLoader
  private var loads: [RequestID: BundleLoader] = [:]

  init(makeLoader: @escaping () -> BundleLoader) {
    self.makeLoader = makeLoader
  }

  /// The progress of each bundle, in the order of the requests.
  var progress: [(id: RequestID, progress: BundleProgress)] {
    loads.sorted { $0.key.rawValue < $1.key.rawValue }.map { ($0.key, $0.value.currentProgress) }
  }

  mutating func received(_ bytes: [UInt8], _ id: RequestID) -> [SyncAction] {
    // Taken out, so that what the loader has gathered is not copied when it grows.
    var loader = loads.removeValue(forKey: id) ?? makeLoader()
    var actions: [SyncAction] = []
    do {
      let isIncomplete = try loader.append(bytes) { actions.append(.bundleProgress(id, $0)) }
      guard isIncomplete else { return actions + [.answer(id, .done)] }
      loads[id] = loader
      return actions
    } catch {
      return actions + Self.failed(id, loader.failure, .storage("The bundle could not be stored", error))
    }
  }

  /// The source of a bundle has ended. Puts the complete bundle into the cache.
  ///
  /// - Returns: The documents that changed, to be shown before the actions; nil if nothing was stored.
  mutating func ended(_ id: RequestID, _ error: StatusError?) -> (changes: DocumentMap?, actions: [SyncAction]) {
    var loader = loads.removeValue(forKey: id) ?? makeLoader()
    if let error { return (nil, Self.failed(id, loader.failure, error)) }
    do {
      let (changes, progress) = try loader.finish()
      return (changes, [.bundleProgress(id, progress), .answer(id, .done)])
    } catch {
      return (nil, Self.failed(id, loader.failure, .storage("The bundle could not be stored", error)))
    }
  }

  /// Forgets all bundles.
  mutating func removeAll() {
    loads = [:]
  }

  static func failed(_ id: RequestID, _ progress: BundleProgress, _ error: StatusError) -> [SyncAction] {
    [
      .log(.warning, "A bundle was not loaded: \(error.message)"), .bundleProgress(id, progress),
      .requestFailed(id, error),
    ]
  }
}
