import ArgumentParser
import HearthCache
import HearthData
import HearthModel

struct CacheRejectedCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rejected", abstract: "List the writes that the backend has refused, oldest first.",
    discussion:
      "With JSON, one object per line and batch. A program hands them in again or discards them (rejectedWrites).")

  @OptionGroup var options: CacheOptions

  @OptionGroup var owner: OwnerOptions

  func run() throws {
    try options.list { cache in
      var entries: [RejectedEntry] = []
      try cache.forEachRejectedBatch(of: owner.owner.map(\.name)) {
        entries.append($0)
        return true
      }
      return entries
    } whenEmpty: {
      EmptyCacheAnswer.rejected(owner.owner, $0)
    } json: { entry, database in
      entry.json { $0.dataJSON(in: database) }
    } show: { entries, _ in
      var table = TableLayout(["BATCH", "USER", "REFUSED", "OPERATION", "DOCUMENT", "ERROR"], right: [0])
      var count = WriteCount()
      for entry in entries {
        Self.add(entry, to: &table)
        count.add(entry.contents)
      }
      try options.format.tables.show(table, ending: "\(count)")
    }
  }

  private static func add(_ entry: RejectedEntry, to table: inout TableLayout) {
    let (number, user) = ("\(entry.batchID)", entry.owner.inWords)
    let (time, error) = (entry.rejectedAt?.rfc3339 ?? "", entry.error?.description ?? "unknown")
    switch entry.contents {
    case .unreadable(let reason): table.add([number, user, time, "unreadable", reason, error])
    case .batch(let batch):
      for mutation in batch.mutations {
        table.add([number, user, time, mutation.operationName, mutation.key.canonicalString, error])
      }
    }
  }
}
