/// A row that breaks an invariant.
package struct RowViolation: Hashable, Sendable, CustomStringConvertible {
  package var table: String
  /// The key of the row, as far as it can be read.
  package var row: String
  /// The rule, as a sentence about the row.
  package var rule: String

  package init(table: String, row: String, rule: String) {
    self.table = table
    self.row = row
    self.rule = rule
  }

  package var description: String { "\(table), row \(row) breaks the rule: \(rule)" }
}

/// A rule that a statement can check.
package struct RowRule: Sendable {
  private let table: String
  private let rule: String
  private let sql: String

  /// - Parameters:
  ///   - rule: A sentence about a row of the table.
  ///   - sql: Selects the keys of the rows that break the rule, as text in one column.
  package init(_ table: String, _ rule: String, _ sql: String) {
    (self.table, self.rule, self.sql) = (table, rule, sql)
  }

  package func violations(in database: Database) throws -> [RowViolation] {
    var violations: [RowViolation] = []
    try database.forEachRow(sql) { row in
      violations.append(RowViolation(table: table, row: (try? row.string(at: 0)) ?? "?", rule: rule))
      return true
    }
    return violations
  }
}
