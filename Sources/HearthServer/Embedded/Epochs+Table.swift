internal import HearthModel
internal import HearthStore

extension Epochs {
  init(from database: Database) throws {
    let select = try database.prepare(
      "SELECT number, epoch, after_version, first_version FROM server_epochs ORDER BY number")
    var all: [Epoch] = []
    while try select.step() {
      all.append(
        Epoch(
          number: try select.int64(at: 0), id: try select.bytes(at: 1),
          after: SnapshotVersion(microseconds: try select.int64(at: 2)),
          first: SnapshotVersion(microseconds: try select.int64(at: 3))))
    }
    self.init(all)
  }

  /// Writes those that the table does not have, and removes those that were forgotten.
  ///
  /// - Parameter former: The epochs in the table.
  func save(in database: Database, replacing former: Epochs = Epochs([])) throws {
    if let oldest = all.first, former.all.first.map({ $0.number < oldest.number }) ?? false {
      try database.update("DELETE FROM server_epochs WHERE number < ?", .integer(oldest.number))
    }
    let latest = former.all.last?.number ?? 0
    for epoch in all where epoch.number > latest {
      try database.update(
        "INSERT INTO server_epochs (number, epoch, after_version, first_version) VALUES (?, ?, ?, ?)",
        .integer(epoch.number), .blob(epoch.id), .integer(epoch.after.microseconds),
        .integer(epoch.first.microseconds))
    }
  }
}
