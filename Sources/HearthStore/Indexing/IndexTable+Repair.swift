internal import HearthPlan

extension IndexTable {
  /// Empties all indexes, so that they are filled again, and removes definitions that cannot be read. An index is derived
  /// from the documents, so nothing is lost but the time to fill it.
  package func startOver() throws {
    try database.transaction("Start indexes over") {
      try database.execute("DELETE FROM index_entries")
      try database.execute("DELETE FROM index_local_entries")
      let numbers = try active().map { String($0.number) }.joined(separator: ", ")
      try database.execute("DELETE FROM index_definitions WHERE number NOT IN (\(numbers))")
      try database.execute("DELETE FROM index_fields WHERE number NOT IN (SELECT number FROM index_definitions)")
      try database.execute("UPDATE index_definitions SET filled_through = 0, local_filled_through = 0")
      forget()
    }
  }
}
