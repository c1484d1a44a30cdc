internal import Foundation
internal import HearthCache
internal import HearthStore

/// Deletes a cache after the clients that have it open have ended.
///
/// Nothing here blocks: clients of this process end on the same queue, between two attempts.
struct CacheClearing: Sendable {
  private let folder: String
  private let completion: @Sendable (NSError?) -> Void
  private let deadline: ContinuousClock.Instant

  private static let pause: Duration = .milliseconds(20)

  init(folder: String, _ completion: @escaping @Sendable (NSError?) -> Void) {
    self.folder = folder
    self.completion = completion
    deadline = .now + FolderWait.limit
  }

  func begin() {
    LoopQueues.queue(forFolder: folder).async { attempt(1) }
  }

  /// The attempts after which clients that have opened the cache meanwhile are asked as well.
  private static let attemptsBetweenRequests = 25

  private func attempt(_ number: Int) {
    do {
      try CacheFile.delete(folder: folder)
      completion(nil)
    } catch {
      guard FolderWait.isWorthwhile(after: error), ContinuousClock.now < deadline else {
        return completion(.firestore(opening: error))
      }
      if number % Self.attemptsBetweenRequests == 1 { CacheFile.askClientsToEnd(folder: folder) }
      LoopQueues.queue(forFolder: folder).asyncAfter(deadline: .now() + Self.pause.dispatchInterval) {
        attempt(number + 1)
      }
    }
  }
}
