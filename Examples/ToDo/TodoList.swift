import ArgumentParser
import Foundation
import Hearth

/// The list on this device.
struct TodoList {
  let database: Firestore
  let receipts: ReceiptFile
  let isOffline: Bool

  var collection: CollectionReference { database.collection("todos") }

  /// The items in the order in which they were added.
  ///
  /// - Parameter limit: The time that the backend has to answer; after it, and at once without a connection, the cache answers.
  ///   Zero asks only the cache.
  func items(within limit: Duration) async throws -> (items: [TodoItem], isFromCache: Bool) {
    let snapshot = try await collection.order(by: "addedAt").getDocuments(policy: .server(within: limit))
    return (snapshot.documents.map(TodoItem.init), snapshot.metadata.isFromCache)
  }

  /// Finds an item in the cache.
  ///
  /// - Parameter name: The id, or a beginning of it that no other item has.
  /// - Throws: `ValidationError` if there is no such item, or more than one.
  func item(_ name: String) async throws -> TodoItem {
    let found = try await items(within: .zero).items.filter { $0.id.hasPrefix(name) }
    if let exact = found.first(where: { $0.id == name }) { return exact }
    guard found.count < 2 else {
      throw ValidationError("\(found.count) items have an id that begins with \"\(name)\".")
    }
    guard let item = found.first else {
      throw ValidationError("No item on this device has an id that begins with \"\(name)\"; `list` shows them.")
    }
    return item
  }

  /// Waits until a change is safe on this device, gives it two seconds to reach the backend, and prints how far it has come.
  ///
  /// - Parameters:
  ///   - receipt: The receipt of the write.
  ///   - change: The change in words, which `sync` repeats when it reports the outcome.
  func finish(_ receipt: WriteReceipt, _ change: String) async throws {
    try await receipt.saved()
    if !isOffline { _ = try await isOutboxEmpty(within: .seconds(2)) }
    switch receipt.state {
    case .acknowledged: print("sent: \(change)")
    case .failed(let error): print("refused: \(change): \(error.localizedDescription)")
    case .saved, .unsaved:
      try receipts.append(receipt.id, change)
      print("saved: \(change); `sync` sends it")
    }
  }

  /// Waits until the backend has answered every change.
  ///
  /// - Returns: False if the time was over before.
  func isOutboxEmpty(within limit: Duration) async throws -> Bool {
    let outbox = database.outbox
    return try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        for try await snapshot in outbox.snapshots where snapshot.writes.isEmpty { return true }
        return false
      }
      group.addTask {
        try await Task.sleep(for: limit)
        return false
      }
      defer { group.cancelAll() }
      return try await group.next() ?? false
    }
  }
}
