public import Foundation
internal import HearthModel

/// A query, which can be read once or listened to. Queries are immutable: each method returns a new one.
///
/// ```swift
/// let largest = db.collection("cities")
///   .whereField("state", isEqualTo: "CA")
///   .order(by: "population", descending: true)
///   .limit(to: 3)
/// ```
///
/// Offline, queries work on the contents of the cache. Two queries are equal when they are of the same Firestore object and ask for the
/// same documents in the same order.
///
/// ## Conditions
///
/// Each `whereField` exists for a field's path as `String`, split at dots, and as ``FieldPath``, whose names may contain any character. A
/// document must satisfy all conditions of a query; ``whereFilter(_:)`` is for alternatives.
///
/// Comparisons match only within one kind of type: `isGreaterThan: 5` finds numbers only. An integer and a double of the same
/// value are equal. Texts are ordered by their UTF-8 bytes. The document's id is the field `FieldPath.documentID()`; its values are
/// ids as `String`, in queries of a collection group paths, or references.
///
/// Programming errors are: values that cannot be stored, field values, empty lists, `notIn` together with another `notIn`, `in`,
/// `arrayContainsAny` or `isNotEqualTo`, and two `isNotEqualTo`. The backend refuses further queries with `invalidArgument`, above all
/// those with more than 30 alternatives (each value of `in` and of `arrayContainsAny` is one) or more than 10 values in `notIn` (Firestore
/// documentation of queries). The cache answers these queries.
///
/// A query that cannot be sent is refused by the client: every read and listener of it gets `invalidArgument`, whatever the source. That is one
/// with almost 4 MiB of names, filters and cursors, and one with more than 45 filters of alternating kinds (`andFilter`, `orFilter`) in each other;
/// maps and arrays in operands count, too.
// Not final because `CollectionReference` inherits from it, which the compiler needs for a checked conformance. All stored
// properties are immutable and Sendable here and in the subclass.
public class Query: NSObject, @unchecked Sendable {
  /// The Firestore object that the query belongs to.
  public let firestore: Firestore
  let model: HearthModel.Query
  /// The error that every read and listener of the query gets; nil if it can be run. A cursor may be impossible because of a document's
  /// data, which is no error of the application, and a query too large to be sent.
  var fault: NSError? { cursorFault ?? OutgoingQueryLimits.refusal(of: model) }
  let cursorFault: NSError?

  init(firestore: Firestore, model: HearthModel.Query, cursorFault: NSError? = nil) {
    self.firestore = firestore
    self.model = model
    self.cursorFault = cursorFault
  }

  /// Equality as in the type's description.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? Query else { return false }
    return self === other
      || firestore === other.firestore && model.canonicalID == other.model.canonicalID
        && cursorFault == other.cursorFault
  }

  /// A hash of the Firestore object and the query.
  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(ObjectIdentifier(firestore))
    hasher.combine(model.canonicalID)
    return hasher.finalize()
  }

  /// The query's canonical form, for logs.
  public override var description: String { "<\(type(of: self)): \(model.canonicalID)>" }

  // MARK: - Order and limits

  /// Orders the results by a field, ascending, after the query's existing orders. Documents without the field are not in the result.
  /// Calling it after a start or an end is a programming error.
  ///
  /// The explicit orders are followed by the fields of range conditions, `isNotEqualTo` and `notIn`, by their paths, and by the document's
  /// id, all in the direction of the last order (firebase-ios-sdk query.cc, normalized_order_bys).
  ///
  /// - Parameter field: A field's path, split at dots.
  public func order(by field: String) -> Query { order(by: field, descending: false) }

  /// Same as ``order(by:)-(String)``.
  public func order(by path: FieldPath) -> Query { order(by: path, descending: false) }

  /// Same as ``order(by:)-(String)``, in the given direction.
  public func order(by field: String, descending: Bool) -> Query {
    built { () throws(ProgrammingError) in
      try QueryBuilder.order(model, by: try FieldPath.parsed(field), descending: descending)
    }
  }

  /// Same as ``order(by:)-(String)``, in the given direction.
  public func order(by path: FieldPath, descending: Bool) -> Query {
    built { () throws(ProgrammingError) in
      try QueryBuilder.order(model, by: path.model, descending: descending)
    }
  }

  /// Limits the result to its first documents. A later limit, including ``limit(toLast:)``, replaces an earlier one.
  ///
  /// - Parameter limit: The number of documents; less than one is a programming error.
  public func limit(to limit: Int) -> Query {
    built { () throws(ProgrammingError) in try QueryBuilder.limit(model, to: limit, type: .first) }
  }

  /// Limits the result to its last documents, in the query's order. It needs an explicit order: running it without one is a programming
  /// error. A later limit, including ``limit(to:)``, replaces an earlier one.
  ///
  /// - Parameter limit: The number of documents; less than one is a programming error.
  public func limit(toLast limit: Int) -> Query {
    built { () throws(ProgrammingError) in try QueryBuilder.limit(model, to: limit, type: .last) }
  }

  /// - Parameter function: The call that builds the query, for the message of a programming error.
  func built(
    in function: StaticString = #function, _ body: () throws(ProgrammingError) -> HearthModel.Query
  ) -> Query {
    Query(firestore: firestore, model: requireValid(in: function, body), cursorFault: cursorFault)
  }
}

// MARK: - Cursors

extension Query {
  /// Starts the result at a document and includes it. A later start replaces an earlier one.
  ///
  /// The position is exact: among documents with equal fields the id decides. The document must exist and have all fields of the order, and
  /// none of these may be a server timestamp that the backend has not set yet. Otherwise every read and listener of the query, and of
  /// queries derived from it, gets the error `invalidArgument`.
  public func start(atDocument document: DocumentSnapshot) -> Query { bounded(by: document, .start, isInclusive: true) }

  /// Starts the result at a position and includes it. A later start replaces an earlier one.
  ///
  /// - Parameter fieldValues: One value for each of the first orders of the query; more values than orders are a programming error. For the
  ///   document's id the value is a `String`: the id, or in queries of a collection group the path.
  public func start(at fieldValues: [Any]) -> Query { bounded(by: fieldValues, .start, isInclusive: true) }

  /// Same as ``start(atDocument:)``, but excludes the document itself.
  public func start(afterDocument document: DocumentSnapshot) -> Query {
    bounded(by: document, .start, isInclusive: false)
  }

  /// Same as ``start(at:)``, but excludes the position itself.
  public func start(after fieldValues: [Any]) -> Query { bounded(by: fieldValues, .start, isInclusive: false) }

  /// Ends the result before a document and excludes it. For the document see ``start(atDocument:)``.
  public func end(beforeDocument document: DocumentSnapshot) -> Query {
    bounded(by: document, .end, isInclusive: false)
  }

  /// Ends the result before a position and excludes it. For the values see ``start(at:)``.
  public func end(before fieldValues: [Any]) -> Query { bounded(by: fieldValues, .end, isInclusive: false) }

  /// Ends the result at a document and includes it. For the document see ``start(atDocument:)``.
  public func end(atDocument document: DocumentSnapshot) -> Query { bounded(by: document, .end, isInclusive: true) }

  /// Ends the result at a position and includes it. For the values see ``start(at:)``.
  public func end(at fieldValues: [Any]) -> Query { bounded(by: fieldValues, .end, isInclusive: true) }

  private func bounded(
    by values: [Any], _ edge: QueryBuilder.Edge, isInclusive: Bool, in function: StaticString = #function
  ) -> Query {
    built(in: function) { () throws(ProgrammingError) in
      try QueryBuilder.bound(
        model, edge, values: values, isInclusive: isInclusive, databaseID: firestore.databaseID)
    }
  }

  private func bounded(by snapshot: DocumentSnapshot, _ edge: QueryBuilder.Edge, isInclusive: Bool) -> Query {
    do throws(UnusableCursor) {
      let bounded = try QueryBuilder.bound(
        model, edge, document: snapshot.document, isInclusive: isInclusive, databaseID: firestore.databaseID)
      return Query(firestore: firestore, model: bounded, cursorFault: cursorFault)
    } catch {
      return Query(
        firestore: firestore, model: model, cursorFault: cursorFault ?? .firestore(.invalidArgument, error.message))
    }
  }
}
