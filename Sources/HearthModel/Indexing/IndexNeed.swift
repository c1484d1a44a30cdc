/// The contents of an index that one conjunction of a query needs, by production's rules: the fields that are compared for equality, in any
/// order, then the fields that are sorted, then the key, and last the vector that a search compares (Firestore documentation, "Index types
/// in Cloud Firestore").
package struct IndexNeed: Hashable, Sendable {
  package var collectionGroup: String
  package var scope: QueryIndexDefinition.Scope
  /// Compared for equality; `ascending`, or `contains` for membership in an array.
  package var equalities: [IndexDefinition.Field]
  /// Sorted: ranges are on one or more of them.
  package var sorted: [IndexDefinition.Field]
  package var keyDirection: OrderBy.Direction
  package var vector: QueryIndexDefinition.Vector?

  /// The index that production suggests where none answers the query.
  package var suggestion: QueryIndexDefinition {
    QueryIndexDefinition(
      collectionGroup: collectionGroup, scope: scope, fields: equalities + sorted, keyDirection: keyDirection,
      vector: vector)
  }

  /// The indexes by which production answers it if nothing but the automatic ones and ``suggestion`` are there. Equalities alone are
  /// answered by merging the indexes of single fields.
  package var indexes: [QueryIndexDefinition] {
    guard vector == nil, sorted.isEmpty, equalities.count > 1 else { return [suggestion] }
    return equalities.map { field in
      var index = suggestion
      index.fields = [field]
      return index
    }
  }
}

extension Query {
  /// The indexes that production needs to answer the query, without repetitions: one need for each conjunction of its filters.
  ///
  /// - Parameter vector: the vector that a search compares; nil for no search.
  /// - Returns: none for all collections, whose documents are read in the order of their names, and for a query that finds nothing.
  package func indexNeeds(comparing vector: QueryIndexDefinition.Vector? = nil) -> [IndexNeed] {
    guard collectionGroup != "", let group = collectionGroup ?? path.last else { return [] }
    guard let conjunctions = disjunctions(atMost: 1_000) else { return [] }
    var needs: [IndexNeed] = []
    for filters in conjunctions {
      let need = need(of: filters, group, comparing: vector)
      if !needs.contains(need) { needs.append(need) }
    }
    return needs
  }

  private func need(
    of filters: [FieldFilter], _ group: String, comparing vector: QueryIndexDefinition.Vector?
  ) -> IndexNeed {
    var equalities: [IndexDefinition.Field] = []
    for filter in filters where !filter.path.isDocumentKey {
      let kind: IndexDefinition.Kind
      switch filter.op {
      case .equal: kind = .ascending
      case .arrayContains, .arrayContainsAny: kind = .contains
      case .in, .notIn, .notEqual, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual: continue
      }
      let field = IndexDefinition.Field(path: filter.path, kind: kind)
      if !equalities.contains(field) { equalities.append(field) }
    }
    // Documents with the same value of a field are in order by that field already.
    let equal = Set(equalities.lazy.filter { $0.kind == .ascending }.map(\.path))
    let sorted = orders.filter { !$0.path.isDocumentKey && !equal.contains($0.path) }.map { order in
      IndexDefinition.Field(path: order.path, kind: order.direction == .ascending ? .ascending : .descending)
    }
    return IndexNeed(
      collectionGroup: group, scope: collectionGroup == nil ? .collection : .collectionGroup, equalities: equalities,
      sorted: sorted, keyDirection: orders.last?.direction ?? .ascending, vector: vector)
  }
}

// MARK: - Which indexes there are

extension DeclaredIndexes {
  /// Returns whether production, with these indexes and its automatic ones, answers the need.
  package func answer(_ need: IndexNeed) -> Bool {
    if need.vector == nil {
      if need.equalities.isEmpty, need.sorted.isEmpty, need.keyDirection == .ascending { return true }
      if need.sorted.isEmpty, !need.equalities.isEmpty, need.equalities.allSatisfy({ hasAutomatic($0, for: need) }) {
        return true
      }
    }
    // Indexes with the same sorted fields are merged; together they hold all fields that are compared.
    var covered: Set<IndexDefinition.Field> = []
    var isSorted = false
    if need.vector == nil, let only = need.sorted.first, need.sorted.count == 1, isAlong(only, need.keyDirection),
      hasAutomatic(only, for: need)
    {
      isSorted = true
    }
    for composite in composites {
      guard let fields = prefix(of: composite, for: need) else { continue }
      covered.formUnion(fields)
      isSorted = true
    }
    if need.sorted.isEmpty, need.vector == nil {
      covered.formUnion(need.equalities.filter { hasAutomatic($0, for: need) })
    }
    return isSorted && covered.isSuperset(of: need.equalities)
  }

  private func isAlong(_ field: IndexDefinition.Field, _ keyDirection: OrderBy.Direction) -> Bool {
    (field.kind == .descending) == (keyDirection == .descending)
  }

  /// The compared fields that a composite index holds, if it goes on with what the need sorts. Production does not read it backwards: an order
  /// and its reverse, for example of `limitToLast`, need an index each.
  private func prefix(of index: QueryIndexDefinition, for need: IndexNeed) -> [IndexDefinition.Field]? {
    guard ByteOrder.areEqual(index.collectionGroup, need.collectionGroup), index.scope == need.scope,
      index.vector == need.vector, index.fields.count >= need.sorted.count
    else { return nil }
    let (head, tail) = (index.fields.dropLast(need.sorted.count), Array(index.fields.suffix(need.sorted.count)))
    guard tail == need.sorted, index.keyDirection == need.keyDirection || need.vector != nil else { return nil }
    var fields: [IndexDefinition.Field] = []
    for field in head {
      let compared = IndexDefinition.Field(path: field.path, kind: field.kind == .contains ? .contains : .ascending)
      guard need.equalities.contains(compared), !fields.contains(compared) else { return nil }
      fields.append(compared)
    }
    return fields
  }

  /// Returns whether there is an index of a single field: the automatic one of collections, or what replaces it for the field or for a map
  /// around it. Equality is answered by both directions.
  private func hasAutomatic(_ field: IndexDefinition.Field, for need: IndexNeed) -> Bool {
    func replacement(_ path: FieldPath) -> FieldOverride? {
      overrides.last { ByteOrder.areEqual($0.collectionGroup, need.collectionGroup) && $0.path == path }
    }
    var segments = field.path.segments
    while !segments.isEmpty {
      if let path = try? FieldPath(segments), let replacement = replacement(path) {
        return replacement.indexes.contains { index in
          guard index.scope == need.scope else { return false }
          if field.kind == .contains { return index.kind == .contains }
          return need.sorted.contains(field) ? index.kind == field.kind : index.kind != .contains
        }
      }
      segments.removeLast()
    }
    return need.scope == .collection
  }
}
