/// The time of a state of the database, as the backend counts it. Versions are compared, never computed.
package struct SnapshotVersion: Hashable, Comparable, Sendable, CustomStringConvertible {
  package var timestamp: Timestamp

  /// Older than every version of a backend: no snapshot has been received yet.
  package static let none = SnapshotVersion(Timestamp(seconds: 0, nanoseconds: 0))

  package init(_ timestamp: Timestamp) {
    self.timestamp = timestamp
  }

  package init(microseconds: Int64) {
    self.timestamp = Timestamp(microseconds: microseconds)
  }

  package var microseconds: Int64 { timestamp.microseconds }

  package static func < (a: SnapshotVersion, b: SnapshotVersion) -> Bool { a.timestamp < b.timestamp }

  package var description: String { self == .none ? "none" : "\(timestamp)" }
}
