import ArgumentParser
import Hearth

/// `todo list`: shows the items.
struct ListItems: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "list", abstract: "Show the list.")

  @OptionGroup var options: DatabaseOptions

  func run() async throws {
    try await options.withList { list in
      let (items, isFromCache) = try await list.items(within: .seconds(2))
      for item in items { print(item.line) }
      print("\(items.count) items\(isFromCache ? ", as this device knows them" : "")")
    }
  }
}

/// `todo outbox`: shows the changes that wait for the backend, and those that it has refused.
struct ShowOutbox: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "outbox", abstract: "Show the changes that wait, and those that were refused.")

  @OptionGroup var options: DatabaseOptions

  func run() async throws {
    try await options.withList { list in
      let waiting = try await list.database.outbox.writes()
      for write in waiting {
        print("waits: \(write.operations.map(\.description).joined(separator: "; "))")
      }
      for write in try await list.database.rejectedWrites.writes() {
        let operations = write.operations.map(\.description).joined(separator: "; ")
        print("refused: \(operations): \(write.error.localizedDescription)")
      }
      print("\(waiting.count) changes wait")
    }
  }
}
