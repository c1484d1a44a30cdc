internal import HearthModel
internal import HearthPlan
internal import HearthStore

/// An index of the cache and its present state. See ``PersistentCacheIndexManager/indexes()``.
public struct PersistentCacheIndex: Hashable, Sendable {
  /// The reason for an index.
  public enum Origin: String, Hashable, Sendable {
    /// A configuration declares it.
    case declared
    /// A query would have been faster with it; see ``PersistentCacheIndexManager/enableIndexAutoCreation()``.
    case automatic
  }

  /// The extent to which an index is filled.
  public enum FillState: String, Hashable, Sendable {
    /// Every document.
    case complete
    /// Documents that were in the cache when the index was created are still being entered, in the background. Queries use the existing
    /// entries and read the rest without the index, so their results are correct.
    case filling
  }

  /// The definition of the index.
  public let definition: FirestoreIndex
  /// The reason for the index.
  public let origin: Origin
  /// The number of entries: one for each document that has all fields, or one for each element with array membership.
  public let rows: Int
  /// The size of the entries in bytes, without the file's own overhead.
  public let bytes: Int64
  /// The extent to which the index is filled.
  public let fillState: FillState

  init(_ listing: IndexListing) {
    definition = FirestoreIndex(listing.definition)
    origin =
      switch listing.origin {
      case .declared: .declared
      case .automatic: .automatic
      }
    rows = Int(clamping: listing.rowCount)
    bytes = listing.byteCount
    fillState =
      switch listing.fill {
      case .complete: .complete
      case .filling: .filling
      }
  }
}

extension PersistentCacheIndex: CustomStringConvertible {
  /// A text such as `cities: state ASCENDING (declared, 1,204 entries, 57,344 bytes, complete)`.
  public var description: String {
    """
    \(definition) (\(origin.rawValue), \(rows.grouped) \(rows == 1 ? "entry" : "entries"), \
    \(bytes.grouped) \(bytes == 1 ? "byte" : "bytes"), \(fillState.rawValue))
    """
  }
}

extension FirestoreIndex {
  init(_ definition: IndexDefinition) {
    var fields = definition.fields.map { field in
      switch field.kind {
      case .ascending: Field(fieldPath: field.path.canonicalString, order: .ascending)
      case .descending: Field(fieldPath: field.path.canonicalString, order: .descending)
      case .contains: Field(fieldPath: field.path.canonicalString, arrayConfig: .contains)
      }
    }
    let implied = definition.orderedFields.last?.direction ?? .ascending
    if definition.keyDirection != implied {
      fields.append(
        Field(fieldPath: "__name__", order: definition.keyDirection == .ascending ? .ascending : .descending))
    }
    self.init(collectionGroup: definition.collectionGroup, fields: fields)
  }
}
