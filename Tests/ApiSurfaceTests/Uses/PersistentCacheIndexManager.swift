import Hearth

// section: PersistentCacheIndexManager

func usePersistentCacheIndexManager(manager: PersistentCacheIndexManager) {
  // row: func enableIndexAutoCreation()
  manager.enableIndexAutoCreation()
  // row: func disableIndexAutoCreation()
  manager.disableIndexAutoCreation()
  // row: func deleteAllIndexes()
  manager.deleteAllIndexes()
}
