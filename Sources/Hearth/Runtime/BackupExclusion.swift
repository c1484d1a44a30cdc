internal import Foundation

/// Keeps the cache's folder out of the device's backups.
///
/// A restored backup would send the writes of its time again, over newer data (firebase-ios-sdk leveldb_persistence.cc, EnsureDirectory).
/// Everything else in the cache comes from the backend again.
enum BackupExclusion {
  static func exclude(_ folder: String) {
    #if canImport(Darwin)
      var url = URL(fileURLWithPath: folder, isDirectory: true)
      var values = URLResourceValues()
      values.isExcludedFromBackup = true
      do {
        try url.setResourceValues(values)
      } catch {
        HearthLog.log(.warning, "Cache folder \"\(folder)\" cannot be excluded from backups: \(error)")
      }
    #endif
  }
}
