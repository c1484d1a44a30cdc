/// The tables of local indexes.
///
/// An index holds every document of its collection group whose `place` is at most `filled_through`, and no other. This number alone
/// describes a half-filled index: a change of a document compares it with the document's place to decide whether entries must change, and a
/// query reads the entries and then scans the documents after that place.
///
/// Entries are ordered by index, collection and key. The key holds the values of the fields and the document's id, encoded so that their
/// bytes are in the order of queries. A query reads one range for each collection.
///
/// With such an index, a query of a collection group in a million collections would look into each of them. An index with the scope of the
/// collection group has the whole key of the document in place of its id, and all its entries have one number that no collection has. So
/// the query reads one range, however many collections there are.
///
/// Documents with pending writes have entries of their own, one set for each owner of writes, for the documents as that owner sees them.
/// They are few, so they are stored by collection whatever the scope.
enum IndexSchema {
  static let statements = [
    """
    CREATE TABLE index_definitions (
      number INTEGER PRIMARY KEY, state INTEGER NOT NULL, origin INTEGER NOT NULL, collection_group TEXT NOT NULL,
      filled_through INTEGER NOT NULL, local_filled_through INTEGER NOT NULL)
    """,
    """
    CREATE TABLE index_fields (
      number INTEGER NOT NULL, position INTEGER NOT NULL, path TEXT NOT NULL, kind INTEGER NOT NULL,
      PRIMARY KEY (number, position)) WITHOUT ROWID
    """,
    """
    CREATE TABLE index_entries (
      number INTEGER NOT NULL, collection INTEGER NOT NULL, key BLOB NOT NULL, place INTEGER NOT NULL,
      PRIMARY KEY (number, collection, key)) WITHOUT ROWID
    """,
    """
    CREATE TABLE index_local_entries (
      number INTEGER NOT NULL, owner INTEGER NOT NULL, collection TEXT NOT NULL, key BLOB NOT NULL, id TEXT NOT NULL,
      PRIMARY KEY (number, owner, collection, key)) WITHOUT ROWID
    """,
    "CREATE INDEX index_local_entries_by_document ON index_local_entries (owner, collection, id)",
  ]
  /// The indexes of older files are of single collections.
  static let scopes = [
    "ALTER TABLE index_definitions ADD COLUMN scope INTEGER NOT NULL DEFAULT \(Scope.collection)"
  ]
  /// When a query has used an automatic index, in microseconds since 1970, as far as the owner has noted it.
  static let uses = ["ALTER TABLE index_definitions ADD COLUMN latest_use INTEGER NOT NULL DEFAULT 0"]
  static let probes = [
    """
    SELECT number, state, origin, collection_group, filled_through, local_filled_through, scope, latest_use
    FROM index_definitions WHERE state = 0
    """,
    "SELECT path, kind FROM index_fields WHERE number = 0 ORDER BY position",
    "SELECT key, place FROM index_entries WHERE number = 0 AND collection = 0 AND key >= x''",
    "SELECT key, id FROM index_local_entries WHERE number = 0 AND owner = 0 AND collection = '' AND key >= x''",
    """
    SELECT number FROM index_local_entries INDEXED BY index_local_entries_by_document
    WHERE owner = 0 AND collection = '' AND id = ''
    """,
  ]

  /// The numbers of the column `state`.
  enum State {
    static let active: Int64 = 1
    /// Dropped; its entries must still be removed.
    static let dropped: Int64 = 2
  }

  /// The numbers of the column `scope`.
  enum Scope {
    static let collection: Int64 = 1
    static let collectionGroup: Int64 = 2
  }

  /// In place of the number of a collection in the entries of an index of the collection group.
  static let allCollections: Int64 = 0

  /// The numbers of the column `kind` of fields.
  enum FieldKind {
    static let ascending: Int64 = 1
    static let descending: Int64 = 2
    static let contains: Int64 = 3
  }
}
