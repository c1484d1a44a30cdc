internal import HearthModel
internal import HearthRPC
internal import Logging

extension ChangeLog.Cut {
  /// The figures of a log line.
  func metadata(of database: DatabaseID) -> Logger.Metadata {
    [
      "database": .escaped(database), "log_bytes": "\(bytes)", "limit_bytes": "\(limitBytes)",
      "history_seconds": "\(keptSeconds)", "wanted_seconds": "\(wantedSeconds)",
    ]
  }
}
