/// An index of the cache: its collections, and the fields that order its entries.
///
/// ```swift
/// FirestoreIndex(
///   collectionGroup: "cities",
///   fields: [.init(fieldPath: "tags", arrayConfig: .contains), .init(fieldPath: "population", order: .descending)])
/// ```
///
/// Its JSON has the form of an index in the Firebase CLI's `firestore.indexes.json`.
public struct FirestoreIndex: Hashable, Sendable, Codable {
  /// The scope of a backend's index. In the cache every index serves both scopes.
  public enum QueryScope: String, Hashable, Sendable, Codable {
    /// Queries of one collection.
    case collection = "COLLECTION"
    /// Queries of all collections of that id.
    case collectionGroup = "COLLECTION_GROUP"
  }

  /// The direction in which a field is ordered.
  public enum Order: String, Hashable, Sendable, Codable {
    /// From the smallest value to the largest.
    case ascending = "ASCENDING"
    /// From the largest value to the smallest.
    case descending = "DESCENDING"
  }

  /// The way in which the elements of an array are found.
  public enum ArrayConfig: String, Hashable, Sendable, Codable {
    /// By equality, for `arrayContains` and `arrayContainsAny`.
    case contains = "CONTAINS"
  }

  /// A field of an index.
  public struct Field: Hashable, Sendable, Codable {
    /// The field's path: names separated by dots. A name that is not a plain identifier stands in backticks. `"__name__"` as the last field
    /// gives the direction for documents with equal fields.
    public var fieldPath: String
    /// The direction; nil for a field with ``arrayConfig``. A field with neither is descending.
    public var order: Order?
    /// Set for an array that is searched by its elements. It takes precedence over ``order``.
    public var arrayConfig: ArrayConfig?

    /// A field of an index.
    public init(fieldPath: String, order: Order? = nil, arrayConfig: ArrayConfig? = nil) {
      self.fieldPath = fieldPath
      self.order = order
      self.arrayConfig = arrayConfig
    }
  }

  /// An exception from the indexes that the backend creates for every field by default.
  ///
  /// The cache creates no indexes by default, so these have no effect on it; they exist so that a configuration can be passed unchanged.
  public struct FieldOverrides: Hashable, Sendable, Codable {
    /// One index of the field.
    public struct Index: Hashable, Sendable, Codable {
      /// The collections that it serves.
      public var queryScope: QueryScope
      /// The direction, or nil for ``arrayConfig``.
      public var order: Order?
      /// Set for an array that is searched by its elements.
      public var arrayConfig: ArrayConfig?

      /// One index of a field.
      public init(queryScope: QueryScope = .collection, order: Order? = nil, arrayConfig: ArrayConfig? = nil) {
        self.queryScope = queryScope
        self.order = order
        self.arrayConfig = arrayConfig
      }
    }

    /// The id of the collections.
    public var collectionGroup: String
    /// The field's path.
    public var fieldPath: String
    /// The indexes that the field has instead of the default ones.
    public var indexes: [Index]

    /// An exception for a field.
    public init(collectionGroup: String, fieldPath: String, indexes: [Index]) {
      self.collectionGroup = collectionGroup
      self.fieldPath = fieldPath
      self.indexes = indexes
    }
  }

  /// The id of the collections whose documents are in the index, without slashes.
  public var collectionGroup: String
  /// For the backend; in the cache every index serves both scopes.
  public var queryScope: QueryScope
  /// The fields in the order in which documents are sorted.
  public var fields: [Field]

  /// Makes an index. ``Firestore/setIndexConfiguration(indexes:fieldOverrides:)`` checks it.
  public init(collectionGroup: String, queryScope: QueryScope = .collection, fields: [Field]) {
    self.collectionGroup = collectionGroup
    self.queryScope = queryScope
    self.fields = fields
  }
}

extension FirestoreIndex {
  /// Decodes an index of an index file, where a missing scope means ``QueryScope/collection``.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    collectionGroup = try container.decode(String.self, forKey: .collectionGroup)
    queryScope = try container.decodeIfPresent(QueryScope.self, forKey: .queryScope) ?? .collection
    fields = try container.decodeIfPresent([Field].self, forKey: .fields) ?? []
  }
}

extension FirestoreIndex: CustomStringConvertible {
  /// A text such as `cities: state ASCENDING, tags CONTAINS`.
  public var description: String {
    let fields = fields.map { field in
      let kind = field.arrayConfig?.rawValue ?? (field.order ?? .descending).rawValue
      return "\(field.fieldPath) \(kind)"
    }
    return "\(collectionGroup): \(fields.joined(separator: ", "))"
  }
}
