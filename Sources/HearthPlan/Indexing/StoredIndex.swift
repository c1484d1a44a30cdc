package import HearthModel

/// The reason for which an index exists.
package enum IndexOrigin: Int64, Sendable {
  /// Declared by the app.
  case declared = 1
  /// Created for a query that would have been faster with it.
  case automatic = 2
}

/// An index as it is stored in a database.
package struct StoredIndex: Sendable {
  /// The mark of an index that holds every document.
  package static let complete = Int64.max

  package let number: Int64
  package let definition: IndexDefinition
  package let origin: IndexOrigin
  /// Documents up to this place have entries.
  package let filledThrough: Int64
  /// The progress of the owner of the local mutations with their entries.
  package let localFilledThrough: Int64
  /// Parts of the definition, computed once.
  package let components: [OrderBy]
  package let member: FieldPath?

  package init(
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

  /// An index that does not exist, to plan with it.
  package init(proposed definition: IndexDefinition) {
    self.init(number: 0, definition: definition, origin: .automatic, filledThrough: 0, localFilledThrough: 0)
  }

  /// True if the entries of all collections are one range.
  package var isOfGroup: Bool { definition.scope == .collectionGroup }

  package var holdsLocalMutations: Bool { localFilledThrough == Self.complete }
}
