internal import HearthModel
internal import HearthWire
internal import SwiftProtobuf

/// The position from which a client resumes a target.
enum ResumePosition {
  /// The version of the snapshot that the client has seen, whichever history it is of.
  static func seen(by message: Google_Firestore_V1_Target) -> SnapshotVersion? {
    guard case .resumeToken(let bytes) = message.resumeType else { return nil }
    return ResumeToken(bytes: [UInt8](bytes))?.snapshot
  }

  /// The version up to which the client has the target; nil when it has to start from the beginning. A token that is broken, foreign, too old
  /// or of the future is not an error.
  ///
  /// - Parameter version: The version that the stream stands at.
  static func version(
    of message: Google_Firestore_V1_Target, in database: Session, streamAt version: SnapshotVersion
  ) -> SnapshotVersion? {
    let start: SnapshotVersion
    switch message.resumeType {
    case .resumeToken(let bytes):
      guard let token = ResumeToken(bytes: [UInt8](bytes)), database.epochs.contains(token) else { return nil }
      start = token.version
    case .readTime(let time):
      // It would name the documents of a result that the caller has never seen.
      guard case .owner = database.caller else { return nil }
      guard let timestamp = try? database.translator.decode(time, at: "read_time") else { return nil }
      start = SnapshotVersion(timestamp)
      guard database.epochs.contains(start) else { return nil }
    case nil:
      return nil
    }
    return start <= version ? start : nil
  }
}
