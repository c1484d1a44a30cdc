package import HearthModel
package import HearthPlan

/// The local indexes of one database: their definitions and their filling.
///
/// Entries change in the same transaction as their document or local mutation. Values are kept in memory only during the transaction that
/// has read them, unless the owner states which state of the indexes a transaction sees.
package final class IndexTable {
  let database: Database

  /// The active indexes as a transaction has read them, valid until it ends.
  private struct Known {
    var transaction: UInt64
    /// The state that the owner named when this was read, see ``use(_:)``.
    var state: Int64?
    var all: [StoredIndex]?
    var groups: [(group: String, indexes: [StoredIndex])] = []
  }

  private var known: Known?
  /// The state of the indexes that the running transaction sees, as the owner numbers them.
  private var state: (transaction: UInt64, number: Int64)?
  /// Transactions mostly touch a few groups; more are not searched through.
  private static let knownGroupLimit = 16

  /// For a database whose tables are there (`StoreSchema`).
  init(database: Database) {
    self.database = database
  }

  // MARK: - Reading

  /// The active indexes of a collection group.
  func indexes(of group: String) throws(StoreError) -> [StoredIndex] {
    forgetOtherTransactions()
    if let found = known?.groups.first(where: { $0.group.utf8.elementsEqual(group.utf8) }) { return found.indexes }
    let indexes = try rows(of: group)
    if let count = known?.groups.count {
      if count >= Self.knownGroupLimit { known?.groups.removeAll() }
      known?.groups.append((group, indexes))
    }
    return indexes
  }

  /// The number of active indexes of a collection group that were created automatically.
  package func automaticIndexCount(of group: String) throws(StoreError) -> Int {
    try indexes(of: group).count { $0.origin == .automatic }
  }

  /// All active indexes. An index whose row is corrupt is left out, as if it had never been created.
  func active() throws(StoreError) -> [StoredIndex] {
    forgetOtherTransactions()
    if let indexes = known?.all { return indexes }
    let indexes = try rows(of: nil)
    known?.all = indexes
    return indexes
  }

  private func forgetOtherTransactions() {
    let transaction = database.transactionNumber
    if database.isInTransaction, known?.transaction == transaction { return }
    guard database.isInTransaction else { return known = nil }
    let number = state?.transaction == transaction ? state?.number : nil
    if let number, known?.state == number {
      known?.transaction = transaction
    } else {
      known = Known(transaction: transaction, state: number)
    }
  }

  /// Says which state of the indexes the running transaction sees. Facts about the indexes that were read in an earlier transaction with
  /// the same number are then not read again.
  ///
  /// - Parameter state: A number that the owner keeps in the same database, and changes in each transaction that changes a
  ///   definition or fills an index.
  package func use(_ state: Int64) {
    self.state = (database.transactionNumber, state)
  }

  /// - Parameter group: nil for the indexes of all groups. With one, no others are looked at, however many there are.
  private func rows(of group: String?) throws(StoreError) -> [StoredIndex] {
    let statement = try database.prepare(
      """
      SELECT number, origin, collection_group, filled_through, local_filled_through, scope FROM index_definitions
      WHERE state = ?\(group == nil ? "" : " AND collection_group = ?") ORDER BY number
      """,
      [.integer(IndexSchema.State.active)] + (group.map { [.text($0)] } ?? []))
    var indexes: [StoredIndex] = []
    while try statement.step() {
      do throws(StoreError) {
        if let index = try index(in: statement) { indexes.append(index) }
      } catch {
        // Skip an index only if its row is corrupt. Skipping it after a transient error would leave this transaction's
        // documents out of it permanently.
        guard error.kind == .corrupt else { throw error }
      }
    }
    return indexes
  }

  private func index(in statement: Statement) throws(StoreError) -> StoredIndex? {
    let number = try statement.int64(at: 0)
    guard let origin = IndexOrigin(rawValue: try statement.int64(at: 1)) else { return nil }
    let scope: IndexDefinition.Scope
    switch try statement.int64(at: 5) {
    case IndexSchema.Scope.collection: scope = .collection
    case IndexSchema.Scope.collectionGroup: scope = .collectionGroup
    default: return nil
    }
    let (group, fields) = (try statement.string(at: 2), try fields(of: number))
    guard let definition = try? IndexDefinition(collectionGroup: group, scope: scope, fields: fields),
      !definition.fields.isEmpty
    else { return nil }
    return StoredIndex(
      number: number, definition: definition, origin: origin, filledThrough: try statement.int64(at: 3),
      localFilledThrough: try statement.int64(at: 4))
  }

  private func fields(of number: Int64) throws(StoreError) -> [IndexDefinition.Field] {
    let statement = try database.prepare(
      "SELECT path, kind FROM index_fields WHERE number = ? ORDER BY position", .integer(number))
    var fields: [IndexDefinition.Field] = []
    while try statement.step() {
      let text = try statement.string(at: 0)
      guard let path = try? FieldPath(parsingServerFormat: text) else {
        throw .corrupt("table index_fields, \(number): \"\(text)\" is not the path of a field")
      }
      switch try statement.int64(at: 1) {
      case IndexSchema.FieldKind.ascending: fields.append(.init(path: path, kind: .ascending))
      case IndexSchema.FieldKind.descending: fields.append(.init(path: path, kind: .descending))
      case IndexSchema.FieldKind.contains: fields.append(.init(path: path, kind: .contains))
      case let kind: throw .corrupt("table index_fields, \(number): \(kind) is not a kind of field")
      }
    }
    return fields
  }

  // MARK: - Definitions

  /// Replaces the set of indexes. Those that exist already keep their entries; all others are dropped.
  package func set(_ definitions: [IndexDefinition]) throws {
    try database.transaction("Set indexes") {
      let active = try active()
      let wanted = Set(definitions)
      for index in active where !wanted.contains(index.definition) { try drop(index.number) }
      try add(definitions, origin: .declared, beside: active)
    }
  }

  /// Replaces the set of declared indexes. Those that exist already keep their entries. Other declared indexes are dropped; automatic ones
  /// stay.
  package func declare(_ definitions: [IndexDefinition]) throws {
    try database.transaction("Declare indexes") {
      let active = try active()
      let wanted = Set(definitions)
      for index in active where index.origin == .declared && !wanted.contains(index.definition) {
        try drop(index.number)
      }
      try add(definitions, origin: .declared, beside: active)
    }
  }

  /// The definitions of the declared indexes.
  package func declaredDefinitions() throws -> Set<IndexDefinition> {
    Set(try active().lazy.filter { $0.origin == .declared }.map(\.definition))
  }

  /// Adds an index that does not exist yet.
  package func add(_ definition: IndexDefinition, origin: IndexOrigin) throws {
    try database.transaction("Add index") {
      try add([definition], origin: origin, beside: try active())
    }
  }

  /// Drops automatic indexes. Declared ones stay.
  package func dropAutomatic(_ definitions: some Sequence<IndexDefinition>) throws {
    let unwanted = Set(definitions)
    try database.transaction("Drop automatic indexes") {
      for index in try active() where index.origin == .automatic && unwanted.contains(index.definition) {
        try drop(index.number)
      }
    }
  }

  /// - Parameter active: the indexes that exist already. An automatic one that is wanted is a declared one from now on.
  private func add(
    _ definitions: [IndexDefinition], origin: IndexOrigin, beside active: [StoredIndex]
  ) throws(StoreError) {
    var origins: [IndexDefinition: (number: Int64, origin: IndexOrigin)] = [:]
    for index in active where origins[index.definition] == nil {
      origins[index.definition] = (index.number, index.origin)
    }
    for definition in definitions where !definition.fields.isEmpty {
      if let existing = origins[definition] {
        if existing.origin == .automatic, origin == .declared { try setOrigin(origin, of: existing.number) }
        continue
      }
      origins[definition] = (try insert(definition, origin: origin), origin)
    }
    forget()
  }

  private func insert(_ definition: IndexDefinition, origin: IndexOrigin) throws(StoreError) -> Int64 {
    assert(database.isInWriteTransaction, "an index is added outside of a write transaction")
    assert(!definition.fields.isEmpty, "an index without fields is added")
    let insert = try database.prepare(
      """
      INSERT INTO index_definitions
        (number, state, origin, collection_group, filled_through, local_filled_through, scope)
      VALUES ((SELECT coalesce(max(number), 0) + 1 FROM index_definitions), ?, ?, ?, 0, 0, ?) RETURNING number
      """,
      .integer(IndexSchema.State.active), .integer(origin.rawValue), .text(definition.collectionGroup),
      .integer(
        definition.scope == .collectionGroup ? IndexSchema.Scope.collectionGroup : IndexSchema.Scope.collection))
    guard try insert.step() else { throw .corrupt("table index_definitions: an inserted row has no number") }
    let number = try insert.int64(at: 0)
    try insertFields(of: definition, number: number)
    return number
  }

  private func insertFields(of definition: IndexDefinition, number: Int64) throws(StoreError) {
    // A number may have been left behind by a damaged row.
    try database.update("DELETE FROM index_fields WHERE number = ?", .integer(number))
    let keyKind: IndexDefinition.Kind = definition.keyDirection == .ascending ? .ascending : .descending
    let fields = definition.fields + [IndexDefinition.Field(path: .documentKey, kind: keyKind)]
    for (position, field) in fields.enumerated() {
      let kind =
        switch field.kind {
        case .ascending: IndexSchema.FieldKind.ascending
        case .descending: IndexSchema.FieldKind.descending
        case .contains: IndexSchema.FieldKind.contains
        }
      try database.update(
        "INSERT INTO index_fields (number, position, path, kind) VALUES (?, ?, ?, ?)", .integer(number),
        .integer(Int64(position)), .text(field.path.canonicalString), .integer(kind))
    }
  }

  private func setOrigin(_ origin: IndexOrigin, of number: Int64) throws(StoreError) {
    try database.update(
      "UPDATE index_definitions SET origin = ?2 WHERE number = ?1", .integer(number), .integer(origin.rawValue))
    forget()
  }

  /// Drops all indexes, also those with damaged rows. ``fill(_:)`` removes their entries step by step.
  package func dropAll() throws {
    try database.transaction("Drop indexes") {
      try database.update("UPDATE index_definitions SET state = ?", .integer(IndexSchema.State.dropped))
      forget()
    }
  }

  private func drop(_ number: Int64) throws(StoreError) {
    try database.update(
      "UPDATE index_definitions SET state = ?2 WHERE number = ?1", .integer(number), .integer(IndexSchema.State.dropped)
    )
    forget()
  }

  // MARK: - Marks

  func setMark(_ place: Int64, of number: Int64) throws(StoreError) {
    try setMark("filled_through", place, number)
  }

  func setLocalMark(_ mark: Int64, of number: Int64) throws(StoreError) {
    try setMark("local_filled_through", mark, number)
  }

  private func setMark(_ column: String, _ mark: Int64, _ number: Int64) throws(StoreError) {
    assert(database.isInWriteTransaction, "a mark of an index changes outside of a write transaction")
    try database.update(
      "UPDATE index_definitions SET \(column) = ?2 WHERE number = ?1", .integer(number), .integer(mark))
    forget()
  }

  /// Must be called when definitions or marks have changed or were rolled back: what was read before is forgotten.
  package func forget() {
    known = nil
    state = nil
  }

  // MARK: - Listing

  /// All indexes with their sizes. The cost grows with the number of entries.
  package func listings() throws -> [IndexListing] {
    try database.readTransaction("List indexes") {
      try active().map { index in
        let stored = try size(
          "SELECT count(*), coalesce(sum(length(key)), 0) FROM index_entries WHERE number = ?", index)
        let local = try size(
          // The length of a text would end at its first U+0000.
          """
          SELECT count(*), coalesce(sum(length(key) + length(CAST(id AS BLOB))), 0) FROM index_local_entries
          WHERE number = ?
          """, index)
        let isComplete = index.filledThrough == StoredIndex.complete && index.holdsLocalMutations
        return IndexListing(
          definition: index.definition, origin: index.origin, rowCount: stored.rows + local.rows,
          byteCount: stored.bytes + local.bytes, fill: isComplete ? .complete : .filling)
      }
    }
  }

  private func size(_ sql: String, _ index: StoredIndex) throws(StoreError) -> (rows: Int64, bytes: Int64) {
    let statement = try database.prepare(sql, .integer(index.number))
    guard try statement.step() else { return (0, 0) }
    return (try statement.int64(at: 0), try statement.int64(at: 1))
  }
}
