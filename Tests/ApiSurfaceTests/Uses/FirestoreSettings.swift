import Hearth

// section: FirestoreSettings

@available(*, deprecated)
func useFirestoreSettings(
  settings: FirestoreSettings, text: String, flag: Bool, queue: DispatchQueue, long: Int64,
  cache: any LocalCacheSettings & NSObjectProtocol
) {
  // row: init()
  let _: FirestoreSettings = FirestoreSettings()
  // row: var host: String
  let _: String = settings.host
  settings.host = text
  // row: var isSSLEnabled: Bool
  let _: Bool = settings.isSSLEnabled
  settings.isSSLEnabled = flag
  // row: var dispatchQueue: DispatchQueue
  let _: DispatchQueue = settings.dispatchQueue
  settings.dispatchQueue = queue
  // row: var isPersistenceEnabled: Bool
  let _: Bool = settings.isPersistenceEnabled
  settings.isPersistenceEnabled = flag
  // row: var cacheSizeBytes: Int64
  let _: Int64 = settings.cacheSizeBytes
  settings.cacheSizeBytes = long
  // row: var cacheSettings: any LocalCacheSettings & NSObjectProtocol
  let _: any LocalCacheSettings & NSObjectProtocol = settings.cacheSettings
  settings.cacheSettings = cache
  // row: func copy() -> Any / isEqual / hash
  let _: Any = settings.copy()
  let _: Bool = settings.isEqual(settings)
  let _: Bool = settings == settings
  let _: Int = settings.hash
  let _: any NSCopying = settings
  // row: let FirestoreCacheSizeUnlimited: Int64
  let _: Int64 = FirestoreCacheSizeUnlimited
}
