import ArgumentParser
import Hearth

/// `todo sync`: sends what waits, fetches what others have changed, and says what became of each change.
struct SyncChanges: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sync", abstract: "Send the changes that wait, and say what became of them.")

  @Option(help: ArgumentHelp("The time to wait for the backend.", valueName: "seconds"))
  var timeout = 30

  @OptionGroup var options: DatabaseOptions

  func validate() throws {
    if options.offline { throw ValidationError("`sync` needs a network: leave --offline out.") }
    guard timeout > 0 else { throw ValidationError("A time of \(timeout) seconds is not positive.") }
  }

  func run() async throws {
    try await options.withList { list in
      // As this device shows the items now, with its own changes: what differs afterwards comes from other devices.
      let mine = try await list.items(within: .zero).items
      let changed = try await Self.changedItems(list)

      let isEmpty = try await list.isOutboxEmpty(within: .seconds(timeout))
      try await Self.report(list)
      let (items, isFromCache) = try await list.items(within: .seconds(timeout))
      for item in items where !isFromCache && changed.contains(item.id) {
        guard let before = mine.first(where: { $0.id == item.id }) else { continue }
        let fields = item.fields.filter { before.fields[$0.key] != $0.value }.keys.sorted()
        guard !fields.isEmpty else { continue }
        print(
          "merged: \(item.id.prefix(6)) \(item.title): another device has changed \(fields.joined(separator: ", "))")
      }

      guard isEmpty, !isFromCache else {
        print("\(try await list.database.outbox.count()) changes wait: the backend did not answer in time")
        throw ExitCode.failure
      }
      print("in sync, \(items.count) items")
    }
  }

  /// The ids of the items that the waiting changes are about.
  private static func changedItems(_ list: TodoList) async throws -> Set<String> {
    let operations = try await list.database.outbox.writes().flatMap(\.operations)
    return Set(operations.compactMap { $0.documentPath.split(separator: "/").last.map(String.init) })
  }

  /// Prints the outcome of each change that has one, and forgets it.
  private static func report(_ list: TodoList) async throws {
    var unanswered: [ReceiptFile.Entry] = []
    for entry in try list.receipts.entries() {
      switch try await list.database.receipt(for: entry.id)?.state {
      case .acknowledged: print("sent: \(entry.change)")
      case .failed(FirestoreErrorCode.aborted):
        print("given up: \(entry.change): another device has changed the item in between")
      case .failed(let error): print("refused: \(entry.change): \(error.localizedDescription)")
      case .saved, .unsaved: unanswered.append(entry)
      case nil: print("unknown: \(entry.change): the answer is not kept any more")
      }
    }
    try list.receipts.replace(with: unanswered)
  }
}
