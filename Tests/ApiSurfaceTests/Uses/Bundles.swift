import Hearth

// section: Bundles

func useBundles(
  observer: @escaping (LoadBundleTaskProgress) -> Void, task: LoadBundleTask, handle: LoadBundleObserverHandle,
  progress: LoadBundleTaskProgress
) {
  // row: LoadBundleTask.addObserver(_ observer: @escaping (LoadBundleTaskProgress) -> Void) ->
  //   LoadBundleObserverHandle
  let _: LoadBundleObserverHandle = task.addObserver(observer)
  // row: LoadBundleTask.removeObserverWith(handle: LoadBundleObserverHandle)
  task.removeObserverWith(handle: handle)
  // row: LoadBundleTask.removeAllObservers()
  task.removeAllObservers()
  // row: LoadBundleTaskProgress.documentsLoaded: Int { get }
  let _: Int = progress.documentsLoaded
  // row: LoadBundleTaskProgress.totalDocuments: Int { get }
  let _: Int = progress.totalDocuments
  // row: LoadBundleTaskProgress.bytesLoaded: Int { get }
  let _: Int = progress.bytesLoaded
  // row: LoadBundleTaskProgress.totalBytes: Int { get }
  let _: Int = progress.totalBytes
  // row: LoadBundleTaskProgress.state: LoadBundleTaskState { get }
  let _: LoadBundleTaskState = progress.state
  // row: enum LoadBundleTaskState: Int { case error, inProgress, success }
  let _: [Int] = [LoadBundleTaskState.error, .inProgress, .success].map(\.rawValue)
}
