internal import Foundation
package import HearthModel

/// The parts that an export reads, and the time of the data: written next to its file before the first document, so that another process can go on with it.
///
/// How far it has come is not written anywhere else: the complete lines of the file say it. So a process may end at any byte.
package struct ExportPlan: Hashable, Sendable {
  package var databaseID: DatabaseID
  /// The version of all documents; nil if the backend cannot read in the past.
  package var readTime: SnapshotVersion?
  package var parts: [ExportPart]
  /// True in the plan of a folder whose files are complete.
  package var isComplete = false

  package init(databaseID: DatabaseID, readTime: SnapshotVersion?, parts: [ExportPart]) {
    self.databaseID = databaseID
    self.readTime = readTime
    self.parts = parts
  }

  /// The scopes of the parts, in order.
  package var scopes: [ExportScope] {
    var scopes: [ExportScope] = []
    for part in parts where scopes.last != part.scope { scopes.append(part.scope) }
    return scopes
  }

  // MARK: - As a file

  private static let format = "hearth-export-1"

  private struct Contents: Codable {
    struct Part: Codable {
      var kind: String
      var collection: String?
      var start: String?
      var end: String?
    }

    var format: String
    var project: String
    var database: String
    var readTime: String?
    var isComplete: Bool
    var parts: [Part]
  }

  /// - Throws: A ``DataError`` for a file that is not a plan.
  package init(contentsOfFile path: String) throws(DataError) {
    do {
      try self.init(json: Data(contentsOf: URL(fileURLWithPath: path)))
    } catch {
      throw .file(
        path, "does not say how the export goes on (\(error)). Delete it and what was exported, and begin again.")
    }
  }

  init(json: Data) throws {
    let contents = try JSONDecoder().decode(Contents.self, from: json)
    guard contents.format == Self.format else { throw DataError("its format is \"\(contents.format.prefix(40))\"") }
    databaseID = DatabaseID(projectID: contents.project, database: contents.database)
    readTime = try contents.readTime.map {
      guard let time = ValueJSON.time($0) else { throw DataError("\"\($0.prefix(40))\" is not a time") }
      return SnapshotVersion(time)
    }
    isComplete = contents.isComplete
    parts = try contents.parts.map { part in
      func key(_ text: String?) throws -> DocumentKey? { try text.map { try DocumentKey(ResourcePath(canonical: $0)) } }
      let scope: ExportScope
      switch (part.kind, part.collection) {
      case ("everything", _): scope = .everything
      case ("below", let path?): scope = .below(try ResourcePath(canonical: path))
      case ("collection", let path?): scope = .collection(try ResourcePath(canonical: path))
      default: throw DataError("\"\(part.kind.prefix(40))\" is not a kind of part")
      }
      return ExportPart(scope: scope, start: try key(part.start), end: try key(part.end))
    }
    guard !parts.isEmpty else { throw DataError("it has no parts") }
  }

  func json() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let parts = parts.map { part in
      let (kind, collection): (String, String?) =
        switch part.scope {
        case .everything: ("everything", nil)
        case .below(let path): ("below", path.canonicalString)
        case .collection(let path): ("collection", path.canonicalString)
        }
      return Contents.Part(
        kind: kind, collection: collection, start: part.start?.canonicalString, end: part.end?.canonicalString)
    }
    let contents = Contents(
      format: Self.format, project: databaseID.projectID, database: databaseID.database,
      readTime: readTime?.timestamp.rfc3339, isComplete: isComplete, parts: parts)
    return try encoder.encode(contents)
  }

  /// Writes the plan so that the file is either the former one or this one.
  func write(to path: String) throws(DataError) {
    let data: Data
    do { data = try json() } catch { throw .file(path, "cannot be written: \(error).") }
    try FileWriting.replace(path, with: data)
  }
}
