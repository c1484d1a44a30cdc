import HearthData
import HearthModel

/// A document on a terminal: its path, and a line for each field.
enum DocumentFields {
  static func lines(of document: Document, _ fields: MapValue, in database: DatabaseID) -> [String] {
    var layout = TableLayout(["  FIELD", "VALUE"])
    if document.isFound {
      for entry in fields.entries {
        layout.add(["  " + entry.key, DocumentTable.cell(entry.value, database)])
      }
    } else {
      layout.add([document.isMissing ? "  (does not exist)" : "  (contents unknown)"])
    }
    if document.version > .none { layout.add(["  (updated)", document.version.timestamp.rfc3339]) }
    if document.hasLocalMutations { layout.add(["  (pending write)", "yes"]) }
    let path = CellWidth.cut(TableLayout.safe(ShellWord.bare(document.key.canonicalString)), to: Terminal.width)
    return [Terminal.styled(path, .bold)] + layout.lines(width: Terminal.width)
  }
}
