package import HearthModel

/// Why there is an index.
package enum IndexOrigin: Int64, Sendable {
  /// Somebody asked for it.
  case declared = 1
  /// A query would have been faster with it.
  case automatic = 2
}

/// An index as the database has it.
struct StoredIndex: Sendable {
  /// Of a mark behind which nothing lies.
  static let complete = Int64.max

  let number: Int64
  let definition: IndexDefinition
  let origin: IndexOrigin
  /// Documents up to this place have entries.
  let filledThrough: Int64
  /// How far the owner of the local mutations has come with their entries.
  let localFilledThrough: Int64
  /// The definition's, put together once.
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

  var holdsLocalMutations: Bool { localFilledThrough == Self.complete }
}

/// What can be told about an index.
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
  /// What the entries hold, without the file's own overhead.
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
