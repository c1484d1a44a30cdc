/// A document's place in its database: a path with an even number of segments, at least two.
package struct DocumentKey: Hashable, Comparable, Sendable, CustomStringConvertible {
  package let path: ResourcePath

  /// - Throws: `ModelError.invalidDocumentPath` if the number of segments is odd or zero.
  package init(_ path: ResourcePath) throws(ModelError) {
    let count = path.count
    guard count > 0, count.isMultiple(of: 2) else {
      throw .invalidDocumentPath(path.canonicalString, segmentCount: count)
    }
    self.path = path
  }

  /// Parses a path that a user writes, for example `cities/SF`; see `ResourcePath.init(parsing:)`.
  package init(parsing path: String) throws(ModelError) {
    try self.init(ResourcePath(parsing: path))
  }

  /// The last segment.
  package var id: String { path.last ?? "" }

  /// The path of the collection that holds the document.
  package var collectionPath: ResourcePath { path.parent }

  /// The id of the collection that holds the document.
  package var collectionGroup: String { path.parent.last ?? "" }

  package var canonicalString: String { path.canonicalString }

  package var description: String { path.canonicalString }

  package static func compare(_ a: DocumentKey, _ b: DocumentKey) -> Ordering {
    ResourcePath.compare(a.path, b.path)
  }

  package static func < (a: DocumentKey, b: DocumentKey) -> Bool { a.path < b.path }
}
