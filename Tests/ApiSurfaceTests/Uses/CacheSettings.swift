import Hearth

// section: Cache settings

func useCacheSettings(
  cache: any LocalCacheSettings & NSObjectProtocol, size: NSNumber,
  collector: any MemoryGarbageCollectorSettings & NSObjectProtocol
) {
  // row: protocol LocalCacheSettings
  let _: any LocalCacheSettings = cache
  // row: class PersistentCacheSettings: NSObject, NSCopying, LocalCacheSettings
  let _: any NSObject & NSCopying & LocalCacheSettings = PersistentCacheSettings()
  let _: Bool = PersistentCacheSettings() == PersistentCacheSettings()
  // row: PersistentCacheSettings.init()
  let _: PersistentCacheSettings = PersistentCacheSettings()
  // row: PersistentCacheSettings.init(sizeBytes size: NSNumber)
  let _: PersistentCacheSettings = PersistentCacheSettings(sizeBytes: size)
  // row: class MemoryCacheSettings: NSObject, NSCopying, LocalCacheSettings
  let _: any NSObject & NSCopying & LocalCacheSettings = MemoryCacheSettings()
  let _: Bool = MemoryCacheSettings() == MemoryCacheSettings()
  // row: MemoryCacheSettings.init()
  let _: MemoryCacheSettings = MemoryCacheSettings()
  // row: MemoryCacheSettings.init(garbageCollectorSettings settings: any MemoryGarbageCollectorSettings &
  //   NSObjectProtocol)
  let _: MemoryCacheSettings = MemoryCacheSettings(garbageCollectorSettings: collector)
  // row: protocol MemoryGarbageCollectorSettings
  let _: any MemoryGarbageCollectorSettings = collector
  // row: class MemoryEagerGCSetting: NSObject, NSCopying, MemoryGarbageCollectorSettings
  let _: any NSObject & NSCopying & MemoryGarbageCollectorSettings = MemoryEagerGCSetting()
  let _: Bool = MemoryEagerGCSetting() == MemoryEagerGCSetting()
  let _: MemoryEagerGCSettings = MemoryEagerGCSetting()
  // row: MemoryEagerGCSetting.init()
  let _: MemoryEagerGCSetting = MemoryEagerGCSetting()
  // row: class MemoryLRUGCSettings: NSObject, NSCopying, MemoryGarbageCollectorSettings
  let _: any NSObject & NSCopying & MemoryGarbageCollectorSettings = MemoryLRUGCSettings()
  let _: Bool = MemoryLRUGCSettings() == MemoryLRUGCSettings()
  // row: MemoryLRUGCSettings.init()
  let _: MemoryLRUGCSettings = MemoryLRUGCSettings()
  // row: MemoryLRUGCSettings.init(sizeBytes size: NSNumber)
  let _: MemoryLRUGCSettings = MemoryLRUGCSettings(sizeBytes: size)
}
