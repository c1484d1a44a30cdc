/// A change of rows that breaks one rule of a file, to see that the rule is checked.
package struct Breach: CustomStringConvertible, Sendable {
  package let table: String
  /// The beginning of the row that is named.
  package let row: String
  /// A part of the rule.
  package let rule: String
  package let sql: [String]

  package init(_ table: String, _ row: String, _ rule: String, _ sql: String...) {
    (self.table, self.row, self.rule, self.sql) = (table, row, rule, sql)
  }

  package var description: String { "\(table): \(rule)" }

  /// Returns whether a violation of these is the one of this breach.
  package func isNamed(table: String, row: String, rule: String) -> Bool {
    table == self.table && row.hasPrefix(self.row) && rule.contains(self.rule)
  }
}
