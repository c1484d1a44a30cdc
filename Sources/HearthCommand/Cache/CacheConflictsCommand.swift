import ArgumentParser
import HearthCache
import HearthData
import HearthModel

struct CacheConflictsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "conflicts", abstract: "List the conflicts that rules have resolved, oldest first.",
    discussion: """
      A row for each field in which a change was dropped: the value that the local write was based on, the one that it makes, the \
      backend's, and whose was kept. A conflict without such a field has one row.

      The cache keeps them for 30 days, at most 1,000 of each user. With JSON, one object per line and conflict; a side without the \
      field has no member. A program discards them (resolvedConflicts).
      """)

  @OptionGroup var options: CacheOptions

  @OptionGroup var owner: OwnerOptions

  func run() throws {
    try options.list { cache in
      var entries: [ConflictEntry] = []
      try cache.forEachResolvedConflict(of: owner.owner.map(\.name)) {
        entries.append($0)
        return true
      }
      return entries
    } whenEmpty: {
      EmptyCacheAnswer.conflicts(owner.owner, $0)
    } json: { entry, database in
      entry.json { $0.dataJSON(in: database) }
    } show: { entries, database in
      var table = TableLayout(
        ["BATCH", "USER", "RESOLVED", "DOCUMENT", "OUTCOME", "FIELD", "BASE", "LOCAL", "REMOTE", "KEPT"], right: [0])
      for entry in entries { Self.add(entry, to: &table, database) }
      try options.format.tables.show(table, ending: ProgressText.count(entries.count, "conflict"))
    }
  }

  private static func add(_ entry: ConflictEntry, to table: inout TableLayout, _ database: DatabaseID) {
    switch entry.contents {
    case .unreadable(let reason):
      table.add(["", entry.owner.inWords, "", "unreadable", reason, "", "", "", "", ""])
    case .conflict(let conflict):
      let report = conflict.report
      let start = [
        "\(conflict.batchID)", entry.owner.inWords, conflict.resolvedAt.rfc3339, report.key.canonicalString,
        report.ending.inWords,
      ]
      let (local, remote) = (report.isDeletedLocally ? deleted : "", report.isDeletedRemotely ? deleted : "")
      func cell(_ value: Value?) -> String? { value.map { DocumentTable.cell($0, database) } }
      for field in report.fields {
        let kept = field.kept.map { $0 == .local ? "local" : "remote" } ?? "another value"
        table.add(
          start + [
            field.path.canonicalString, cell(field.base) ?? "", cell(field.local) ?? local,
            cell(field.remote) ?? remote, kept,
          ])
      }
      if report.fields.isEmpty { table.add(start + ["", "", local, remote, ""]) }
    }
  }

  /// Stands for the fields of a document that one side has deleted.
  private static let deleted = "(deleted)"
}

extension ConflictReport.Ending {
  fileprivate var inWords: String {
    switch self {
    case .merged: "merged"
    case .local: "kept local"
    case .remote: "kept remote"
    case .both(let copy): "kept both, local as \(copy.canonicalString)"
    }
  }
}
