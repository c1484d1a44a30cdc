package import HearthModel
internal import HearthPlan

/// Checks the invariants of a document store that hold between two transactions, for the rows of documents, collections and indexes.
///
/// Returns violations instead of asserting, because a file may hold anything. Tests and simulations that damage nothing expect none. The
/// cost grows with the store.
package struct StoreInvariants {
  private let store: DocumentStore

  private init(_ store: DocumentStore) {
    self.store = store
  }

  /// Reads the whole store. Repairs nothing.
  ///
  /// - Throws: `StoreError` if the file cannot be read. A row that cannot be decoded is a violation.
  package static func violations(in store: DocumentStore) throws -> [RowViolation] {
    try store.database.readTransaction("Check invariants") {
      let check = StoreInvariants(store)
      var violations = try (documentRules + indexRules).flatMap { try $0.violations(in: store.database) }
      violations += try check.violationsOfCollections()
      // Without their collections, documents cannot be found.
      guard violations.isEmpty else { return violations }
      violations += try check.violationsOfDocuments()
      var definitions: Set<IndexDefinition> = []
      for index in try store.indexes.active() {
        if !definitions.insert(index.definition).inserted {
          violations.append(
            RowViolation(
              table: "index_definitions", row: "\(index.number)", rule: "no other active index has its definition"))
        }
        violations += try check.violations(of: index)
      }
      return violations
    }
  }

  private static let documentRules = [
    RowRule(
      "documents", "its collection has a row",
      "SELECT CAST(place AS TEXT) FROM documents WHERE collection NOT IN (SELECT number FROM collections)"),
    RowRule(
      "documents", "only a document that exists has fields",
      "SELECT CAST(place AS TEXT) FROM documents WHERE kind <> \(DocumentSchema.Kind.found) AND length(fields) > 0"),
    RowRule(
      "documents", "contents that were not received are those of a write that was acknowledged",
      """
      SELECT CAST(place AS TEXT) FROM documents
      WHERE kind = \(DocumentSchema.Kind.foundWithUnknownContents) AND has_committed_mutations <> 1
      """),
    RowRule(
      "collections", "it holds a document",
      """
      SELECT path FROM collections WHERE NOT EXISTS (
        SELECT 1 FROM documents WHERE collection = number)
      """),
  ]

  private static let indexRules =
    ["index_fields", "index_entries", "index_local_entries"].map { table in
      RowRule(
        table, "its index has a definition",
        "SELECT DISTINCT CAST(number AS TEXT) FROM \(table) WHERE number NOT IN (SELECT number FROM index_definitions)")
    } + [
      RowRule(
        "index_definitions", "its marks are not negative",
        "SELECT CAST(number AS TEXT) FROM index_definitions WHERE filled_through < 0 OR local_filled_through < 0")
    ]

  // MARK: - Documents

  private func violationsOfCollections() throws -> [RowViolation] {
    var violations: [RowViolation] = []
    try store.database.forEachRow("SELECT number, path, group_id FROM collections ORDER BY number") { row in
      let (number, text) = (try row.int64(at: 0), try row.string(at: 1))
      func report(_ rule: String) { violations.append(RowViolation(table: "collections", row: text, rule: rule)) }
      if !Place.isCollection(number) { report("its number has 27 bits") }
      guard let path = try? DocumentSchema.path(text) else {
        report("its path is one of a collection")
        return true
      }
      if try row.string(at: 2) != path.last { report("its group is the last segment of its path") }
      return true
    }
    return violations
  }

  private func violationsOfDocuments() throws -> [RowViolation] {
    var violations: [RowViolation] = []
    try store.forEach(in: .everything(under: ResourcePath())) { stored in
      do {
        _ = try stored.document()
      } catch let error as StoreError where error.kind == .corrupt && error.sqliteCode == 0 {
        violations.append(
          RowViolation(table: "documents", row: "\(stored.collection)", rule: "it can be decoded (\(error.message))"))
      }
      return true
    }
    return violations
  }

  // MARK: - Indexes

  private struct Entry: Hashable {
    var collection: Int64
    var key: [UInt8]
    var place: Int64
  }

  /// An index holds each document of its group up to its mark, under the keys that its contents give, and nothing else.
  private func violations(of index: StoredIndex) throws -> [RowViolation] {
    var expected: Set<Entry> = []
    var keys = IndexKeys(index)
    try store.forEach(in: .group(index.definition.collectionGroup, under: ResourcePath())) { stored in
      // Queries read and report documents that cannot be decoded.
      guard let document = try? stored.document(), document.isFound,
        let place = try place(of: document.key), place <= index.filledThrough
      else { return true }
      let collection = index.entryCollection(of: place >> Place.arrivalBits)
      for key in keys.keys(of: document.fields, document.key, identity: IndexKeys.identity(of: place)) {
        expected.insert(Entry(collection: collection, key: key, place: place))
      }
      return true
    }
    var actual: Set<Entry> = []
    try store.database.forEachRow(
      "SELECT collection, key, place FROM index_entries WHERE number = ?", .integer(index.number)
    ) {
      actual.insert(Entry(collection: try $0.int64(at: 0), key: try $0.bytes(at: 1), place: try $0.int64(at: 2)))
      return true
    }
    func violations(_ entries: Set<Entry>, _ rule: String) -> [RowViolation] {
      entries.map(\.place).sorted().map {
        RowViolation(table: "index_entries", row: "\(index.number) \($0)", rule: rule)
      }
    }
    return violations(expected.subtracting(actual), "an index has an entry for each document up to its mark")
      + violations(actual.subtracting(expected), "an entry is one that the contents of its document give")
  }

  private func place(of key: DocumentKey) throws -> Int64? {
    guard let collection = try store.number(of: key.collectionPath) else { return nil }
    return try store.database.firstRow(
      "SELECT place FROM documents WHERE collection = ? AND id = ?", .integer(collection), .text(key.id)
    ) { try $0.int64(at: 0) }
  }
}

extension IndexTable {
  /// Checks the entries of a document with pending writes in all active indexes.
  ///
  /// - Parameter document: The document as the owner sees it.
  package func violations(ofLocal document: Document, owner: Int64) throws -> [RowViolation] {
    var violations: [RowViolation] = []
    for index in try indexes(of: document.key.collectionGroup) {
      var keys = IndexKeys(index)
      let expected =
        document.isFound
        ? keys.keys(of: document.fields, document.key, identity: IndexKeys.identity(of: document.key.id)) : []
      var actual: Set<[UInt8]> = []
      try database.forEachRow(
        "SELECT key FROM index_local_entries WHERE number = ? AND owner = ? AND collection = ? AND id = ?",
        .integer(index.number), .integer(owner), .text(document.key.collectionPath.canonicalString),
        .text(document.key.id)
      ) {
        actual.insert(try $0.bytes(at: 0))
        return true
      }
      // An index that is being filled has either none of the document's entries or all of them.
      if actual.isEmpty, !index.holdsLocalMutations { continue }
      guard actual != Set(expected) else { continue }
      violations.append(
        RowViolation(
          table: "index_local_entries", row: "\(index.number) \(owner) \(document.key.canonicalString)",
          rule: "its entries are those that the local view of its document gives"))
    }
    return violations
  }
}
