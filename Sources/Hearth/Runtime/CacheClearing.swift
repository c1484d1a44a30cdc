internal import Foundation
internal import HearthCache
internal import HearthStore

/// Deletes a cache. Before, the clients that have it open give it back. They end afterwards, or continue if one of them did not give it
/// back in time.
///
/// Nothing here blocks: clients of this process end on the same queue, between two attempts.
struct CacheClearing: Sendable {
  private let folder: String
  private let completion: @Sendable (NSError?) -> Void
  private let request = EndRequest()
  private let limit: Duration

  private static let pause: Duration = .milliseconds(20)

  init(
    folder: String, limit: Duration = FolderWait.limit, _ completion: @escaping @Sendable (NSError?) -> Void
  ) {
    self.folder = folder
    self.limit = limit
    self.completion = completion
  }

  /// The time for the clients to leave begins when the queue runs this, even if the queue was busy for long.
  func begin() {
    LoopQueue.queue(forFolder: folder).queue.async { attempt(1, until: .now + limit) }
  }

  /// After so many attempts, the clients that have opened the cache since are asked as well.
  private static let attemptsBetweenRequests = 25

  private func attempt(_ number: Int, until deadline: ContinuousClock.Instant) {
    do {
      try CacheFile.delete(folder: folder)
      request.withdraw()
      completion(nil)
    } catch {
      guard FolderWait.isWorthwhile(after: error), ContinuousClock.now < deadline else {
        // Those that have given the folder back continue.
        request.withdraw()
        return completion(.firestore(opening: error))
      }
      if number % Self.attemptsBetweenRequests == 1 { request.ask(clientsOf: folder) }
      LoopQueue.queue(forFolder: folder).queue.asyncAfter(deadline: .now() + Self.pause.dispatchInterval) {
        attempt(number + 1, until: deadline)
      }
    }
  }
}
