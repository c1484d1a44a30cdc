internal import HearthStore

/// The tables with which several clients share a cache. They come after those of the cache.
enum ClientSchema {
  static let schema = Schema(
    component: "clients",
    migrations: [Migration(version: 1, name: "tables of the clients", statements: statements)],
    probes: [
      "SELECT lease_number, lease_holder, lease_heir, online_state, highest_client_id, trimmed_through, backend FROM cache_sharing",
      "SELECT client_id, name, user_key, wants_network, is_visible, seen, futile_turns, last_futile_lease FROM cache_clients",
      "SELECT client_id, target_id, is_watched FROM cache_client_targets INDEXED BY cache_client_targets_by_target WHERE target_id = 0",
      "SELECT target_id FROM cache_current_targets",
      "SELECT number, client_id, kind, user_id, path, subject, code, message FROM cache_notices",
      "SELECT target_id, lease_number FROM cache_followed_targets",
    ])

  private static let statements = [
    // One row. `lease_number` rises with each holder; `lease_holder` is 0 while nobody holds the lease. `lease_heir` is the
    // client to whom the last holder has left it, or 0. `backend` is the one that all present clients use.
    """
    CREATE TABLE cache_sharing (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      lease_number INTEGER NOT NULL,
      lease_holder INTEGER NOT NULL,
      lease_heir INTEGER NOT NULL,
      online_state INTEGER NOT NULL,
      highest_client_id INTEGER NOT NULL,
      trimmed_through INTEGER NOT NULL,
      backend TEXT NOT NULL
    )
    """,
    "INSERT INTO cache_sharing VALUES (1, 0, 0, 0, 0, 0, 0, '')",

    // The clients that have the cache open, and those that ended without leaving it. `seen` is the last notice that the client has
    // surely read. `futile_turns` counts the turns with the lease in a row that were of no use, because the client had no connection or
    // its outbox waited for the application; `last_futile_lease` is the number of the lease in the last of them, or in one that the
    // client did not take although it was left to it.
    """
    CREATE TABLE cache_clients (
      client_id INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      user_key TEXT NOT NULL,
      wants_network INTEGER NOT NULL,
      is_visible INTEGER NOT NULL,
      seen INTEGER NOT NULL,
      futile_turns INTEGER NOT NULL DEFAULT 0,
      last_futile_lease INTEGER NOT NULL DEFAULT 0
    )
    """,

    // The targets that each client uses; `is_watched` is 1 if they are watched at the backend.
    """
    CREATE TABLE cache_client_targets (
      client_id INTEGER NOT NULL,
      target_id INTEGER NOT NULL,
      is_watched INTEGER NOT NULL,
      PRIMARY KEY (client_id, target_id)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX cache_client_targets_by_target ON cache_client_targets (target_id)",

    // The targets whose view at the holder of the lease agrees with the backend, and, negated, those about which client and backend
    // disagree for good (`TargetAgreement`). Kept while there are several clients.
    "CREATE TABLE cache_current_targets (target_id INTEGER PRIMARY KEY)",

    // The notices of clients to each other, written in the transaction that made the change. `kind` is a `Notice.Kind`.
    """
    CREATE TABLE cache_notices (
      number INTEGER PRIMARY KEY,
      client_id INTEGER NOT NULL,
      kind INTEGER NOT NULL,
      user_id INTEGER NOT NULL,
      path TEXT NOT NULL,
      subject INTEGER NOT NULL,
      code INTEGER NOT NULL,
      message TEXT NOT NULL
    )
    """,

    // The targets of other clients that the holder of the lease with this number keeps in memory: also for a while after the last of those
    // clients has left them. Rows of earlier holders may be left; they have no meaning.
    "CREATE TABLE cache_followed_targets (target_id INTEGER PRIMARY KEY, lease_number INTEGER NOT NULL)",
  ]
}
