public import Foundation
internal import HearthModel
internal import Synchronization

extension Firestore {
  /// Puts the documents and named queries of a bundle into the cache, as if they had been read from the backend.
  ///
  /// Server SDKs create bundles. Documents are stored if they are newer than the cached ones; local writes stay on top. A bundle that was
  /// loaded before, or an older one with the same id, changes nothing and succeeds. Several bundles are loaded one after the other, in the
  /// order of the calls. Works offline.
  ///
  /// - Parameters:
  ///   - bundleData: The bundle's bytes.
  ///   - completion: Called once on the settings' queue, after all observers of the task: with the final progress, and with an error as
  ///     well if the loading has failed (`invalidArgument` for data that is not a bundle of this database, `unknown` for empty data). This
  ///     progress is the task's last one; all its numbers are 0 if the bundle could not be started. After an error nothing of the bundle is
  ///     in the cache. If the client is terminated before the bundle is loaded, the error is `cancelled`.
  @discardableResult
  public func loadBundle(
    _ bundleData: Data, completion: ((LoadBundleTaskProgress?, (any Error)?) -> Void)? = nil
  ) -> LoadBundleTask {
    loadBundle(InputStream(data: bundleData), completion: completion)
  }

  /// Same as ``loadBundle(_:completion:)-(Data,_)``, without a completion.
  @discardableResult
  public func loadBundle(_ bundleData: Data) -> LoadBundleTask {
    loadBundle(bundleData, completion: nil)
  }

  /// Same as ``loadBundle(_:completion:)-(Data,_)``, without a completion.
  @discardableResult
  public func loadBundle(_ bundleStream: InputStream) -> LoadBundleTask {
    loadBundle(bundleStream, completion: nil)
  }

  /// Same as ``loadBundle(_:completion:)-(Data,_)``, but reads a stream. The stream is opened, read on a background thread, and closed.
  @discardableResult
  public func loadBundle(
    _ bundleStream: InputStream, completion: ((LoadBundleTaskProgress?, (any Error)?) -> Void)? = nil
  ) -> LoadBundleTask {
    let queue = runtime().callbackQueue
    let task = LoadBundleTask(queue: queue)
    let completion = completion.map(UncheckedSendableBox.init)
    load(bundleStream, task) { progress, error in
      guard let completion else { return }
      queue.async { completion.value(progress, error) }
    }
    return task
  }

  /// Same as ``loadBundle(_:completion:)-(Data,_)``. A cancelled task gets `CancellationError`, but the loading itself goes on.
  nonisolated(nonsending) public func loadBundle(_ bundleData: Data) async throws -> LoadBundleTaskProgress {
    try await loadBundle(InputStream(data: bundleData))
  }

  /// Same as ``loadBundle(_:completion:)-(Data,_)``, from a stream.
  nonisolated(nonsending) public func loadBundle(_ bundleStream: InputStream) async throws -> LoadBundleTaskProgress {
    let outcome = Outcome<LoadBundleTaskProgress>()
    load(bundleStream, LoadBundleTask(queue: runtime().callbackQueue)) { progress, error in
      switch (progress, error) {
      case (let progress?, nil): outcome.resolve(.success(progress))
      case (_, let error):
        outcome.resolve(.failure(error ?? .firestore(.internal, "A bundle was loaded without progress.")))
      }
    }
    return try await outcome.value()
  }

  /// Gets a named query of a loaded bundle. Works offline, even after a restart of the program.
  ///
  /// - Parameters:
  ///   - name: The name of the query in the bundle.
  ///   - completion: Called once on the settings' queue; with nil if there is none, or if the cache cannot be read; the log then has the
  ///     error. Not called if the client is terminated while it waits for the cache.
  public func getQuery(named name: String, completion: @escaping (Query?) -> Void) {
    let queue = runtime().callbackQueue
    let completion = UncheckedSendableBox(completion)
    runtime().readNamedQuery(name) { [self] result in
      guard reports(result.failure) else { return }
      let query = query(result)
      queue.async { completion.value(query) }
    }
  }

  /// Same as ``getQuery(named:completion:)``. A cancelled task gets nil.
  nonisolated(nonsending) public func getQuery(named name: String) async -> Query? {
    let outcome = Outcome<Query?>()
    runtime().readNamedQuery(name) { [self] in outcome.resolve(.success(query($0))) }
    return try? await outcome.value()
  }

  private func query(_ result: Result<HearthModel.Query?, NSError>) -> Query? {
    switch result {
    case .success(let model):
      return model.map { Query(firestore: self, model: $0) }
    case .failure(let error):
      HearthLog.error("A named query could not be read: \(error.localizedDescription)")
      return nil
    }
  }

  private func load(
    _ stream: InputStream, _ task: LoadBundleTask, in function: StaticString = #function,
    _ completion: @escaping @Sendable (_ last: LoadBundleTaskProgress?, NSError?) -> Void
  ) {
    let last = LastProgress()
    BundleSource(stream, runtime(in: function)).start { progress in
      let progress = LoadBundleTaskProgress(progress)
      last.value.withLock { $0 = progress }
      task.tell(progress)
    } completion: { error in
      completion(last.value.withLock { $0 }, error)
    }
  }
}

private final class LastProgress: Sendable {
  let value = Mutex<LoadBundleTaskProgress?>(nil)
}
