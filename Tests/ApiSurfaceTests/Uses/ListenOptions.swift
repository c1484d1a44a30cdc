import Hearth

// section: SnapshotListenOptions, ListenSource, ListenerRegistration, ServerTimestampBehavior, FirestoreSource

func useListenOptions(
  options: SnapshotListenOptions, listenSource: ListenSource, flag: Bool, registration: any ListenerRegistration
) {
  // row: SnapshotListenOptions.init()
  let _: SnapshotListenOptions = SnapshotListenOptions()
  // row: SnapshotListenOptions.source: ListenSource { get }
  let _: ListenSource = options.source
  // row: SnapshotListenOptions.includeMetadataChanges: Bool { get }
  let _: Bool = options.includeMetadataChanges
  // row: func withSource(_ source: ListenSource) -> SnapshotListenOptions
  let _: SnapshotListenOptions = options.withSource(listenSource)
  // row: func withIncludeMetadataChanges(_ includeMetadataChanges: Bool) -> SnapshotListenOptions
  let _: SnapshotListenOptions = options.withIncludeMetadataChanges(flag)
  // row: enum ListenSource: UInt { case `default`, cache }
  let _: [UInt] = [ListenSource.default, .cache].map(\.rawValue)
  // row: protocol ListenerRegistration: NSObjectProtocol { func remove() }
  let _: any NSObjectProtocol = registration
  registration.remove()
  // row: enum ServerTimestampBehavior: Int { case none, estimate, previous }
  let _: [Int] = [ServerTimestampBehavior.none, .estimate, .previous].map(\.rawValue)
  // row: enum FirestoreSource: UInt { case `default`, server, cache }
  let _: [UInt] = [FirestoreSource.default, .server, .cache].map(\.rawValue)
}
