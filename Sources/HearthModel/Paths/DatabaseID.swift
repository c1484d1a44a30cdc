/// Names one database of one project.
package struct DatabaseID: Hashable, Comparable, Sendable, CustomStringConvertible {
  package var projectID: String
  /// `(default)` unless the project has several.
  package var database: String

  package init(projectID: String, database: String = "(default)") {
    self.projectID = projectID
    self.database = database
  }

  /// Parses `projects/<project>/databases/<database>`.
  ///
  /// - Throws: `ModelError.invalidResourceName` for anything else.
  package init(resourceName: String) throws(ModelError) {
    let parts = resourceName.utf8.split(separator: PathSegment.separator, omittingEmptySubsequences: false)
      .map { String(Substring($0)) }
    guard parts.count == 4, parts[0] == "projects", parts[2] == "databases", !parts[1].isEmpty, !parts[3].isEmpty else {
      throw .invalidResourceName(
        resourceName, rule: "A database is named projects/<project>/databases/<database>.")
    }
    self.init(projectID: parts[1], database: parts[3])
  }

  /// `projects/<project>/databases/<database>`
  package var resourceName: String { "projects/\(projectID)/databases/\(database)" }

  /// `projects/<project>/databases/<database>/documents`, the name of the root of all paths.
  package var documentsName: String { "projects/\(projectID)/databases/\(database)/documents" }

  package var description: String { resourceName }

  package func name(of key: DocumentKey) -> String { name(of: key.path) }

  package func name(of path: ResourcePath) -> String {
    path.isEmpty ? documentsName : "\(documentsName)/\(path.canonicalString)"
  }

  /// The key of a document of this database.
  ///
  /// - Throws: `ModelError.invalidResourceName` for a name that is malformed, of another database, or not of a document.
  package func key(fromName name: String) throws(ModelError) -> DocumentKey {
    let path = try path(fromName: name)
    do {
      return try DocumentKey(path)
    } catch {
      throw .invalidResourceName(name, rule: "A document's path has an even number of segments, at least two.")
    }
  }

  /// The path that follows `documentsName` in the name of a document, a collection or the root of this database.
  ///
  /// - Throws: `ModelError.invalidResourceName` for a name that is malformed or of another database.
  package func path(fromName name: String) throws(ModelError) -> ResourcePath {
    let root = documentsName
    guard ByteOrder.areEqual(String(Substring(name.utf8.prefix(root.utf8.count))), root) else {
      throw .invalidResourceName(name, rule: "Names of this database begin with \(root).")
    }
    let rest = name.utf8.dropFirst(root.utf8.count)
    guard let first = rest.first else { return ResourcePath() }
    guard first == PathSegment.separator, rest.count > 1 else {
      throw .invalidResourceName(name, rule: "\(root) is followed by a slash and a path.")
    }
    do {
      return try ResourcePath(canonical: String(Substring(rest.dropFirst())))
    } catch {
      throw .invalidResourceName(name, rule: "Segments must not be empty.")
    }
  }

  package static func compare(_ a: DatabaseID, _ b: DatabaseID) -> Ordering {
    ByteOrder.compare(a.projectID, b.projectID).then(ByteOrder.compare(a.database, b.database))
  }

  package static func < (a: DatabaseID, b: DatabaseID) -> Bool { compare(a, b) == .ascending }

  package static func == (a: DatabaseID, b: DatabaseID) -> Bool {
    ByteOrder.areEqual(a.projectID, b.projectID) && ByteOrder.areEqual(a.database, b.database)
  }

  package func hash(into hasher: inout Hasher) {
    ByteOrder.hash(projectID, into: &hasher)
    ByteOrder.hash(database, into: &hasher)
  }
}
