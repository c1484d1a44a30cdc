package import HearthModel

/// Documents as a table with a column for each field.
package struct DocumentTable: Sendable {
  private let database: DatabaseID
  /// The paths as words of a command line, and the fields.
  private var rows: [(path: String, fields: MapValue)] = []
  /// Names of fields in the order in which they came.
  private var names: [String] = []
  private var known: Set<[UInt8]> = []

  /// More columns fit no terminal.
  private static let maximumFields = 40

  package init(database: DatabaseID) {
    self.database = database
  }

  package mutating func add(_ document: Document, fields: MapValue) {
    rows.append((ShellWord.bare(document.key.canonicalString), fields))
    for entry in fields.entries where names.count < Self.maximumFields {
      if known.insert(Array(entry.key.utf8)).inserted { names.append(entry.key) }
    }
  }

  package var layout: TableLayout {
    var layout = TableLayout(["DOCUMENT"] + names)
    for row in rows {
      layout.add([row.path] + names.map { name in row.fields[name].map { Self.cell($0, database) } ?? "" })
    }
    return layout
  }

  /// A value in a cell: JSON, which tells texts from everything else by their quotation marks; times and references are bare.
  package static func cell(_ value: Value, _ database: DatabaseID) -> String {
    switch value {
    case .timestamp(let time): return time.rfc3339
    case .reference(let reference): return reference.key.canonicalString
    default:
      var writer = ValueJSONWriter(database: database)
      writer.write(value)
      return String(decoding: writer.bytes, as: UTF8.self)
    }
  }
}
