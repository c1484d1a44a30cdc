internal import HearthModel

/// The part of documents that a request selects.
struct Projection: Sendable {
  /// Nil for all fields.
  private let selection: FieldSelection?

  static let all = Projection(paths: nil)

  /// - Parameter paths: All fields if nil.
  init(paths: [FieldPath]?) {
    selection = paths.map { FieldSelection(FieldMask($0.filter { !$0.isDocumentKey })) }
  }

  /// The document with only these fields; paths that it does not have are ignored.
  func applied(to document: Document) throws -> Document {
    guard let selection, document.isFound else { return document }
    var document = document
    document.fields = selection.isEmpty ? .empty : EncodedFields(selection.part(of: try document.fields.decoded()))
    return document
  }
}
