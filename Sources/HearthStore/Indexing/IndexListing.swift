package import HearthModel
package import HearthPlan

/// The public description of an index.
package struct IndexListing: Equatable, Sendable {
  package enum Fill: Equatable, Sendable {
    case complete
    /// Existing documents are being entered; queries already use what is there.
    case filling
  }

  package var definition: IndexDefinition
  package var origin: IndexOrigin
  /// Entries, those of pending writes included. A document has one, or with array membership one for each element.
  package var rowCount: Int64
  /// The bytes of the entries, without the overhead of the file.
  package var byteCount: Int64
  package var fill: Fill

  package init(
    definition: IndexDefinition, origin: IndexOrigin, rowCount: Int64, byteCount: Int64, fill: Fill
  ) {
    self.definition = definition
    self.origin = origin
    self.rowCount = rowCount
    self.byteCount = byteCount
    self.fill = fill
  }
}
