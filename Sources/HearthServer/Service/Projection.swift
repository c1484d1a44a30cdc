internal import HearthModel

/// The part of documents that a request wants to see.
struct Projection {
  /// All fields if nil.
  var paths: [FieldPath]?

  static let all = Projection(paths: nil)

  /// The document with only these fields; paths that it does not have are ignored.
  func applied(to document: Document) throws -> Document {
    guard let paths, document.isFound else { return document }
    var document = document
    let fields = try document.fields.decoded()
    var chosen = MapValue()
    for path in paths where !path.isDocumentKey {
      if let value = fields[path] { chosen.set(value, at: path) }
    }
    document.fields = EncodedFields(chosen)
    return document
  }
}
