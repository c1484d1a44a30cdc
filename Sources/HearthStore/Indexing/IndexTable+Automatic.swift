package import HearthModel
internal import HearthPlan

/// An index that was created for a query.
package struct AutomaticIndex: Equatable, Sendable {
  package var definition: IndexDefinition
  /// Microseconds since 1970; 0 if no use was noted.
  package var latestUse: Int64

  package init(definition: IndexDefinition, latestUse: Int64) {
    self.definition = definition
    self.latestUse = latestUse
  }
}

extension IndexTable {
  /// The definitions of all active indexes.
  package func definitions() throws -> Set<IndexDefinition> {
    Set(try active().map(\.definition))
  }

  /// The active automatic indexes with the uses that were saved.
  package func automaticIndexes() throws -> [AutomaticIndex] {
    let statement = try database.prepare("SELECT latest_use FROM index_definitions WHERE number = ?")
    return try active().filter { $0.origin == .automatic }.map { index in
      statement.reset()
      try statement.bind(1, index.number)
      let use = try statement.step() ? try statement.int64(at: 0) : 0
      return AutomaticIndex(definition: index.definition, latestUse: use)
    }
  }

  /// Saves the times at which automatic indexes were used. Indexes of other origins are left out, and so are times before the saved ones.
  /// Queries see the same indexes as before.
  package func save(uses: [IndexDefinition: Int64]) throws {
    try database.transaction("Save uses of indexes") {
      for index in try active() where index.origin == .automatic {
        guard let use = uses[index.definition] else { continue }
        try database.update(
          "UPDATE index_definitions SET latest_use = ?2 WHERE number = ?1 AND latest_use < ?2",
          .integer(index.number), .integer(use))
      }
    }
  }
}
