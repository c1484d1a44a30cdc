import Foundation
import Hearth
import Synchronization

/// Counts the attempts of a client to send writes that ended without an answer.
///
/// The backend may have carried out such a write, and the client sends it again; `hearth serve` recognises it, other backends do not. It happens
/// with a connection that is lost, and Google's emulator does it by itself: a commit that tells a listen stream of its changes while that is
/// being closed is carried out and answered with UNKNOWN.
final class AttemptRecorder: Sendable {
  private let counts = RecordedAttempts()
  private let task: Task<Void, Never>

  /// - Parameter firestore: Followed until it is terminated.
  init(_ firestore: Firestore) {
    let counts = counts
    task = Task {
      do {
        for try await snapshot in firestore.outbox.snapshots { counts.record(snapshot) }
      } catch {
        // The client was terminated, or its cache cannot be read, which the demo's own calls report.
      }
    }
  }

  deinit {
    task.cancel()
  }

  /// The attempts of all writes until now.
  var count: Int { counts.sum }
}

private final class RecordedAttempts: Sendable {
  private let byWrite = Mutex<[PendingWrite.ID: Int]>([:])

  var sum: Int { byWrite.withLock { $0.values.reduce(0, +) } }

  func record(_ snapshot: OutboxSnapshot) {
    byWrite.withLock { counts in
      for write in snapshot.writes where write.failedAttempts > 0 { counts[write.id] = write.failedAttempts }
    }
  }
}
