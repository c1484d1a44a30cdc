/// The bounds of the part of a result that a run keeps in memory.
package struct ResultBounds {
  package enum Excess {
    /// The result ends with the document that exceeds the bound, in the order of the query.
    case cut
    /// The sort keys of all documents are kept in place of the documents.
    case sortKeys(SortAccount)
  }

  /// The bytes of the fields of documents. Twice as many may be kept for a moment, and a single document of any size.
  package var documentBytes: Int
  /// The treatment of a result with more bytes.
  package var excess: Excess

  package init(documentBytes: Int, excess: Excess) {
    self.documentBytes = documentBytes
    self.excess = excess
  }
}
