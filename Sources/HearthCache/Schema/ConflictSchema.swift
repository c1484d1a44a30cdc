internal import HearthStore

/// The table of resolved conflicts: a component of its own, which the first conflict makes, because most caches never have one.
enum ConflictSchema {
  static let schema = Schema(
    component: "conflicts",
    migrations: [
      Migration(
        version: 1, name: "resolved conflicts",
        statements: [
          // `number` is that of the identity in `cache_write_outcomes`, `ordinal` counts the conflicts of one write, and `kept_at` is a
          // `KeepingTime`. No index: the table is short, and rows that are not asked for are skipped without reading their contents.
          """
          CREATE TABLE cache_resolved_conflicts (
            conflict_id INTEGER PRIMARY KEY,
            user_key TEXT NOT NULL,
            number INTEGER NOT NULL,
            identity BLOB NOT NULL,
            ordinal INTEGER NOT NULL,
            kept_at INTEGER NOT NULL,
            conflict BLOB NOT NULL
          )
          """
        ])
    ],
    probes: [
      "SELECT conflict_id, user_key, number, identity, ordinal, kept_at, conflict FROM cache_resolved_conflicts"
    ])
}
