import Hearth

/// One thing to do.
struct TodoItem {
  let id: String
  let title: String
  let note: String
  let isDone: Bool
  /// True while the backend has not answered all changes of the item.
  let isWaiting: Bool

  init(_ document: QueryDocumentSnapshot) {
    id = document.documentID
    title = document.get("title") as? String ?? ""
    note = document.get("note") as? String ?? ""
    isDone = document.get("done") as? Bool ?? false
    isWaiting = document.metadata.hasPendingWrites
  }

  /// The fields that several devices may change, by the names that they have in the document.
  var fields: [String: String] { ["title": title, "note": note, "done": isDone ? "yes" : "no"] }

  /// A line of the list; `+` marks what the backend does not have yet.
  var line: String {
    let box = isDone ? "[x]" : "[ ]"
    let remark = note.isEmpty ? "" : " (\(note))"
    return "\(id.prefix(6)) \(box) \(title)\(remark)\(isWaiting ? " +" : "")"
  }
}
