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
    LoopQueues.queue(forFolder: folder).async { attempt(isFirst: true) }
  }

  private func attempt(isFirst: Bool) {
    do {
      try CacheFile.delete(folder: folder)
      completion(nil)
    } catch {
      guard FolderWait.isWorthwhile(after: error), ContinuousClock.now < deadline else {
        return completion(.firestore(opening: error))
      }
      if isFirst { CacheFile.askClientsToEnd(folder: folder) }
      LoopQueues.queue(forFolder: folder).asyncAfter(deadline: .now() + Self.pause.dispatchInterval) {
        attempt(isFirst: false)
      }
    }
  }
}
