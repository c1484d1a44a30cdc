import ArgumentParser
import Hearth

/// `todo add`: adds an item.
struct AddItem: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "add", abstract: "Add an item.")

  @Argument(help: "The thing to do.")
  var title: String

  @OptionGroup var options: DatabaseOptions

  func run() async throws {
    try await options.withList { list in
      let (document, receipt) = list.collection.withReceipt.addDocument(data: [
        "title": title, "note": "", "done": false, "addedAt": FieldValue.serverTimestamp(),
      ])
      try await list.finish(receipt, "add \(document.documentID.prefix(6)) \(title)")
    }
  }
}

/// `todo done`: ticks an item off, or opens it again.
struct FinishItem: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "done", abstract: "Tick an item off.")

  @Argument(help: "The item's id, or the beginning of it.")
  var item: String

  @Flag(help: "Open the item again.")
  var undo = false

  @OptionGroup var options: DatabaseOptions

  func run() async throws {
    try await options.withList { list in
      let item = try await list.item(item)
      // Only the field that changes: what other devices do to the rest of the item stays.
      let receipt = list.collection.document(item.id).withReceipt.updateData(["done": !undo])
      try await list.finish(receipt, "\(undo ? "open" : "done") \(item.id.prefix(6)) \(item.title)")
    }
  }
}

/// `todo edit`: changes the title or the note of an item.
struct EditItem: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "edit", abstract: "Change an item's title or note.")

  @Argument(help: "The item's id, or the beginning of it.")
  var item: String

  @Option(help: "The new title.")
  var title: String?

  @Option(help: "The new note.")
  var note: String?

  @OptionGroup var options: DatabaseOptions

  func validate() throws {
    if title == nil, note == nil { throw ValidationError("Say what is to change: --title, --note, or both.") }
  }

  func run() async throws {
    try await options.withList { list in
      let item = try await list.item(item)
      var fields: [String: Any] = [:]
      if let title { fields["title"] = title }
      if let note { fields["note"] = note }
      let receipt = list.collection.document(item.id).withReceipt.updateData(fields)
      try await list.finish(receipt, "edit \(item.id.prefix(6)) \(title ?? item.title)")
    }
  }
}

/// `todo remove`: deletes an item.
struct RemoveItem: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "remove", abstract: "Delete an item.")

  @Argument(help: "The item's id, or the beginning of it.")
  var item: String

  @OptionGroup var options: DatabaseOptions

  func run() async throws {
    try await options.withList { list in
      let item = try await list.item(item)
      let receipt = list.collection.document(item.id).withReceipt.delete()
      try await list.finish(receipt, "remove \(item.id.prefix(6)) \(item.title)")
    }
  }
}
