internal import HearthModel

/// The documents whose waiting writes are compared with later changes by others, and the way in which a conflict ends.
///
/// A write of such a document is sent with the version that it is based on as a precondition. If the backend has another version then,
/// also one that this device has not heard of, the ``ConflictResolver`` decides, and its result is sent instead. The writes behind it wait,
/// in order. Without a rule nothing changes: the last write wins, as with the official SDKs.
///
/// The cache may not have the document, or know that it is missing. A deletion or an update then applies to any document of the backend. Every
/// other write is in conflict if the backend has the document.
///
/// ```swift
/// let settings = FirestoreSettings()
/// settings.conflictRules = [
///   .collection("todos", .mergeFields),
///   .document("profiles/me", .lastWriter(by: "changed")),
/// ]
/// ```
///
/// The first rule that contains a document counts. Transactions are not concerned: they find conflicts themselves. All processes that share
/// a cache should have the same rules, because one of them sends the writes of all.
public struct ConflictRule: Sendable, Hashable, CustomStringConvertible {
  let scope: ConflictScope
  let resolver: ConflictResolver
  /// The rule in words, for a log.
  public let description: String

  /// The documents of a collection, without those of its subcollections.
  ///
  /// - Parameters:
  ///   - path: A path from the root with an odd number of segments, such as `"todos"`; anything else is a programming error.
  ///   - resolver: Decides about a conflict.
  public static func collection(_ path: String, _ resolver: ConflictResolver) -> ConflictRule {
    let collection = requireValid { () throws(ProgrammingError) in try PathParser.collection(path) }
    return ConflictRule(
      scope: .collection(collection), resolver: resolver,
      description: "collection \(collection.canonicalString): \(resolver)")
  }

  /// The documents of all collections with this id, wherever in the database they are.
  ///
  /// - Parameters:
  ///   - id: Not empty and without slashes; anything else is a programming error.
  ///   - resolver: Decides about a conflict.
  public static func collectionGroup(_ id: String, _ resolver: ConflictResolver) -> ConflictRule {
    let id = requireValid { () throws(ProgrammingError) in try PathParser.collectionGroup(id) }
    return ConflictRule(
      scope: .collectionGroup(id), resolver: resolver, description: "collection group \(id): \(resolver)")
  }

  /// One document.
  ///
  /// - Parameters:
  ///   - path: A path from the root with an even number of segments, such as `"profiles/me"`; anything else is a programming error.
  ///   - resolver: Decides about a conflict.
  public static func document(_ path: String, _ resolver: ConflictResolver) -> ConflictRule {
    let key = requireValid { () throws(ProgrammingError) in try PathParser.documentKey(path) }
    return ConflictRule(scope: .document(key), resolver: resolver, description: "document \(key): \(resolver)")
  }
}
