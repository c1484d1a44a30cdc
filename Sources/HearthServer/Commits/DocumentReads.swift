internal import HearthModel

/// Reads documents as they are before a request, found or missing.
struct DocumentReads {
  /// A document, whose existence and version are known at least.
  struct Head {
    /// Without fields unless it is complete.
    var document: Document
    /// True if the fields are there.
    var isComplete: Bool
  }

  /// Fields up to so many bytes are read with the head: they stand on the same page of a file.
  static let bytesWithHead = 4 << 10

  let head: (DocumentKey) throws -> Head
  let document: (DocumentKey) throws -> Document

  init(head: @escaping (DocumentKey) throws -> Head, document: @escaping (DocumentKey) throws -> Document) {
    (self.head, self.document) = (head, document)
  }

  /// Reads of documents that are at hand.
  init(_ document: @escaping (DocumentKey) throws -> Document) {
    self.init(head: { Head(document: try document($0), isComplete: true) }, document: document)
  }
}
