import Hearth

// section: SnapshotMetadata

func useSnapshotMetadata(metadata: SnapshotMetadata) {
  // row: var hasPendingWrites: Bool { get }
  let _: Bool = metadata.hasPendingWrites
  // row: var isFromCache: Bool { get }
  let _: Bool = metadata.isFromCache
}
