internal import HearthCache
internal import HearthModel

extension SyncEngine {
  // MARK: - Bundles

  func bundleReceived(_ bytes: [UInt8], _ id: RequestID) {
    // Taken out, so that what it has gathered is not copied when it grows.
    let known = bundles.updateValue(nil, forKey: id)
    guard var loader = known ?? BundleLoader(localStore: localStore) else { return }
    do {
      let isIncomplete = try loader.append(bytes) { emit(.bundleProgress(id, $0)) }
      guard isIncomplete else { return emit(.answer(id, .done)) }
      bundles[id] = loader
    } catch {
      failBundle(id, loader.failure, .storage("The bundle could not be stored", error))
    }
  }

  func bundleEnded(_ id: RequestID, _ error: StatusError?) {
    guard var loader = bundles.removeValue(forKey: id) ?? BundleLoader(localStore: localStore) else { return }
    if let error { return failBundle(id, loader.failure, error) }
    do {
      let (changes, progress) = try loader.finish()
      backgroundQueries.noteTargets { _ in true }
      refreshViews(changes)
      emit(.bundleProgress(id, progress))
      emit(.answer(id, .done))
    } catch {
      failBundle(id, loader.failure, .storage("The bundle could not be stored", error))
    }
  }

  func failBundle(_ id: RequestID, _ progress: BundleProgress, _ error: StatusError) {
    log(.warning, "A bundle was not loaded: \(error.message)")
    emit(.bundleProgress(id, progress))
    emit(.requestFailed(id, error))
  }

  func readNamedQuery(_ id: RequestID, _ name: String) {
    do {
      emit(.answer(id, .query(try localStore.query(named: name)?.query)))
    } catch {
      emit(.requestFailed(id, .storage("The named query could not be read from the cache", error)))
    }
  }
}
