import ArgumentParser

/// A to-do list for the terminal: it works without a network, and merges what several devices have changed.
@main
struct ToDo: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "todo",
    abstract: "A to-do list that works without a network.",
    discussion: "An item is named by its id, or by the beginning of it that no other item has.",
    subcommands: [
      ListItems.self, AddItem.self, FinishItem.self, EditItem.self, RemoveItem.self, SyncChanges.self, ShowOutbox.self,
    ],
    defaultSubcommand: ListItems.self)
}
