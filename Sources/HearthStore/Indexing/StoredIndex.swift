package import HearthModel

/// The reason for which an index exists.
package enum IndexOrigin: Int64, Sendable {
  /// Declared by the app.
  case declared = 1
  /// Created for a query that would have been faster with it.
  case automatic = 2
}

/// An index as the database has it.
struct StoredIndex: Sendable {
  /// The mark of an index that holds every document.
  static let complete = Int64.max

  let number: Int64
  let definition: IndexDefinition
  let origin: IndexOrigin
  /// Documents up to this place have entries.
  let filledThrough: Int64
  /// The progress of the owner of the local mutations with their entries.
  let localFilledThrough: Int64
  /// Parts of the definition, computed once.
  let components: [OrderBy]
  let member: FieldPath?

  init(
    number: Int64, definition: IndexDefinition, origin: IndexOrigin, filledThrough: Int64, localFilledThrough: Int64
  ) {
    self.number = number
    self.definition = definition
    self.origin = origin
    self.filledThrough = filledThrough
    self.localFilledThrough = localFilledThrough
    components = definition.orderedFields
    member = definition.containsField
  }

  /// One that does not exist.
  init(proposed definition: IndexDefinition) {
    self.init(number: 0, definition: definition, origin: .automatic, filledThrough: 0, localFilledThrough: 0)
  }

  /// True if the entries of all collections are one range.
  var isOfGroup: Bool { definition.scope == .collectionGroup }

  /// What stands in the entries of a collection's documents in the place of its number.
  func entryCollection(of number: Int64) -> Int64 { isOfGroup ? IndexSchema.allCollections : number }

  var holdsLocalMutations: Bool { localFilledThrough == Self.complete }
}

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
