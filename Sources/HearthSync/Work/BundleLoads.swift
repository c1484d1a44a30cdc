internal import HearthCache
internal import HearthModel

/// The bundles that are being loaded.
///
/// | event | unknown | reading | reported |
/// |---|---|---|---|
/// | bytes, more is needed | reading | - | - |
/// | bytes that show that it was loaded before | reported | reported | - |
/// | bytes that cannot be read | reported | reported | - |
/// | the source ends | loaded or failed | loaded or failed; unknown | unknown |
struct BundleLoads {
  private enum Load {
    case reading(BundleLoader)
    /// The end of the loading has been reported, while its source goes on.
    case reported
  }

  private let makeLoader: () -> BundleLoader
  private var loads: [RequestID: Load] = [:]

  init(makeLoader: @escaping () -> BundleLoader) {
    self.makeLoader = makeLoader
  }

  /// The progress of each bundle, in the order of the requests.
  var progress: [(id: RequestID, progress: BundleProgress)] {
    loads.sorted { $0.key.rawValue < $1.key.rawValue }.compactMap { id, load in
      guard case .reading(let loader) = load else { return nil }
      return (id, loader.currentProgress)
    }
  }

  mutating func received(_ bytes: [UInt8], _ id: RequestID) -> [SyncAction] {
    // Replaced, so that what the loader has gathered is not copied when it grows.
    guard var loader = take(loads.updateValue(.reported, forKey: id)) else { return [] }
    var actions: [SyncAction] = []
    do {
      let isIncomplete = try loader.append(bytes) { actions.append(.bundleProgress(id, $0)) }
      guard isIncomplete else { return actions + [.answer(id, .done)] }
      loads[id] = .reading(loader)
      return actions
    } catch {
      return actions + Self.failed(id, loader.failure, .storage("The bundle could not be stored", error))
    }
  }

  /// The source of a bundle has ended. Puts the complete bundle into the cache.
  ///
  /// - Returns: The documents that changed, to be shown before the actions; nil if nothing was stored.
  mutating func ended(_ id: RequestID, _ error: StatusError?) -> (changes: DocumentMap?, actions: [SyncAction]) {
    guard var loader = take(loads.removeValue(forKey: id)) else { return (nil, []) }
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

  /// - Returns: The loader of a bundle, a new one if nothing has come of it; nil if its end has been reported.
  private func take(_ load: Load?) -> BundleLoader? {
    switch load {
    case nil: makeLoader()
    case .reading(let loader): loader
    case .reported: nil
    }
  }
}
