/// A pointer to a document, of any database, as the value of a field.
package struct ReferenceValue: Hashable, Sendable, CustomStringConvertible {
  package var database: DatabaseID
  package var key: DocumentKey

  package init(database: DatabaseID, key: DocumentKey) {
    self.database = database
    self.key = key
  }

  /// Parses `projects/<project>/databases/<database>/documents/<path>`.
  ///
  /// - Throws: `ModelError.invalidResourceName` for anything else.
  package init(name: String) throws(ModelError) {
    let parts = ByteOrder.withUTF8(of: name) { bytes -> (DatabaseID, String)? in
      guard let parts = ReferenceNameParts(bytes) else { return nil }
      let database = DatabaseID(
        projectID: String(decoding: parts.project, as: UTF8.self),
        database: String(decoding: parts.database, as: UTF8.self))
      return (database, String(decoding: parts.path, as: UTF8.self))
    }
    guard let (database, path) = parts else {
      throw .invalidResourceName(
        name,
        rule: "A document is named projects/<project>/databases/<database>/documents/<path>, where the path has an "
          + "even number of segments.")
    }
    self.init(database: database, key: try DocumentKey(ResourcePath(canonical: path)))
  }

  /// `projects/<project>/databases/<database>/documents/<path>`
  package var name: String { database.name(of: key) }

  package var description: String { name }

  /// By project, then database, then path.
  package static func compare(_ a: ReferenceValue, _ b: ReferenceValue) -> Ordering {
    DatabaseID.compare(a.database, b.database).then(DocumentKey.compare(a.key, b.key))
  }
}

/// The places of the parts of a document's name in its bytes.
package struct ReferenceNameParts {
  let project: UnsafeRawBufferPointer
  let database: UnsafeRawBufferPointer
  /// An even number of segments, none empty.
  let path: UnsafeRawBufferPointer

  /// Nil if the bytes are no document's name.
  init?(_ name: UnsafeRawBufferPointer) {
    var rest = name
    guard Self.take("projects", from: &rest), let project = Self.takeSegment(from: &rest),
      Self.take("databases", from: &rest), let database = Self.takeSegment(from: &rest),
      Self.take("documents", from: &rest), Self.isDocumentPath(rest)
    else { return nil }
    self.project = project
    self.database = database
    self.path = rest
  }

  static func compare(_ a: ReferenceNameParts, _ b: ReferenceNameParts) -> Ordering {
    ByteOrder.compare(a.project, b.project)
      .then(ByteOrder.compare(a.database, b.database))
      .then(PathSegment.comparePaths(a.path, b.path))
  }

  static func compare(_ a: ReferenceNameParts, _ b: ReferenceValue) -> Ordering {
    ByteOrder.compare(a.project, b.database.projectID)
      .then(ByteOrder.compare(a.database, b.database.database))
      .then(ByteOrder.withUTF8(of: b.key.canonicalString) { PathSegment.comparePaths(a.path, $0) })
  }

  /// Removes a segment and the slash that must follow it.
  private static func takeSegment(from rest: inout UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    guard let slash = rest.firstIndex(of: PathSegment.separator), slash > 0 else { return nil }
    let segment = UnsafeRawBufferPointer(rebasing: rest[..<slash])
    rest = UnsafeRawBufferPointer(rebasing: rest[(slash + 1)...])
    return segment
  }

  private static func take(_ expected: StaticString, from rest: inout UnsafeRawBufferPointer) -> Bool {
    guard let segment = takeSegment(from: &rest) else { return false }
    return ByteOrder.areEqual(segment, expected)
  }

  private static func isDocumentPath(_ path: UnsafeRawBufferPointer) -> Bool {
    var slashes = 0
    var previous = PathSegment.separator
    for byte in path {
      if byte == PathSegment.separator {
        if previous == PathSegment.separator { return false }
        slashes += 1
      }
      previous = byte
    }
    return previous != PathSegment.separator && slashes % 2 == 1
  }
}
