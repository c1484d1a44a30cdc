import Hearth

// section: Query

func useQuery(
  query: Query, querySnapshotDone: @escaping (QuerySnapshot?, (any Error)?) -> Void, source: FirestoreSource,
  flag: Bool, options: SnapshotListenOptions, filter: Filter, text: String, value: Any, path: FieldPath, values: [Any],
  number: Int, snapshot: DocumentSnapshot, aggregateFields: [AggregateField]
) {
  // row: var firestore: Firestore { get }
  let _: Firestore = query.firestore
  // row: func getDocuments(completion: @escaping (QuerySnapshot?, (any Error)?) -> Void)
  query.getDocuments(completion: querySnapshotDone)
  // row: func getDocuments(source: FirestoreSource, completion: @escaping (QuerySnapshot?, (any Error)?) -> Void)
  query.getDocuments(source: source, completion: querySnapshotDone)
  // row: func addSnapshotListener(_ listener: @escaping (QuerySnapshot?, (any Error)?) -> Void) -> any
  //   ListenerRegistration
  let _: any ListenerRegistration = query.addSnapshotListener(querySnapshotDone)
  query.addSnapshotListener(querySnapshotDone)
  // row: func addSnapshotListener(includeMetadataChanges: Bool, listener: @escaping (QuerySnapshot?, (any Error)?)
  //   -> Void) -> any ListenerRegistration
  let _: any ListenerRegistration = query.addSnapshotListener(includeMetadataChanges: flag, listener: querySnapshotDone)
  // row: func addSnapshotListener(options: SnapshotListenOptions, listener: @escaping (QuerySnapshot?, (any
  //   Error)?) -> Void) -> any ListenerRegistration
  let _: any ListenerRegistration = query.addSnapshotListener(options: options, listener: querySnapshotDone)
  // row: var snapshots: QuerySnapshotsSequence { get }
  let _: QuerySnapshotsSequence = query.snapshots
  // row: func snapshots(includeMetadataChanges: Bool) -> QuerySnapshotsSequence
  let _: QuerySnapshotsSequence = query.snapshots(includeMetadataChanges: flag)
  // row: func whereFilter(_ filter: Filter) -> Query
  let _: Query = query.whereFilter(filter)
  // row: func whereField(_ field: String, isEqualTo value: Any) -> Query
  let _: Query = query.whereField(text, isEqualTo: value)
  // row: func whereField(_ path: FieldPath, isEqualTo value: Any) -> Query
  let _: Query = query.whereField(path, isEqualTo: value)
  // row: func whereField(_ field: String, isNotEqualTo value: Any) -> Query
  let _: Query = query.whereField(text, isNotEqualTo: value)
  // row: func whereField(_ path: FieldPath, isNotEqualTo value: Any) -> Query
  let _: Query = query.whereField(path, isNotEqualTo: value)
  // row: func whereField(_ field: String, isLessThan value: Any) -> Query
  let _: Query = query.whereField(text, isLessThan: value)
  // row: func whereField(_ path: FieldPath, isLessThan value: Any) -> Query
  let _: Query = query.whereField(path, isLessThan: value)
  // row: func whereField(_ field: String, isLessThanOrEqualTo value: Any) -> Query
  let _: Query = query.whereField(text, isLessThanOrEqualTo: value)
  // row: func whereField(_ path: FieldPath, isLessThanOrEqualTo value: Any) -> Query
  let _: Query = query.whereField(path, isLessThanOrEqualTo: value)
  // row: func whereField(_ field: String, isGreaterThan value: Any) -> Query
  let _: Query = query.whereField(text, isGreaterThan: value)
  // row: func whereField(_ path: FieldPath, isGreaterThan value: Any) -> Query
  let _: Query = query.whereField(path, isGreaterThan: value)
  // row: func whereField(_ field: String, isGreaterThanOrEqualTo value: Any) -> Query
  let _: Query = query.whereField(text, isGreaterThanOrEqualTo: value)
  // row: func whereField(_ path: FieldPath, isGreaterThanOrEqualTo value: Any) -> Query
  let _: Query = query.whereField(path, isGreaterThanOrEqualTo: value)
  // row: func whereField(_ field: String, arrayContains value: Any) -> Query
  let _: Query = query.whereField(text, arrayContains: value)
  // row: func whereField(_ path: FieldPath, arrayContains value: Any) -> Query
  let _: Query = query.whereField(path, arrayContains: value)
  // row: func whereField(_ field: String, arrayContainsAny values: [Any]) -> Query
  let _: Query = query.whereField(text, arrayContainsAny: values)
  // row: func whereField(_ path: FieldPath, arrayContainsAny values: [Any]) -> Query
  let _: Query = query.whereField(path, arrayContainsAny: values)
  // row: func whereField(_ field: String, in values: [Any]) -> Query
  let _: Query = query.whereField(text, in: values)
  // row: func whereField(_ path: FieldPath, in values: [Any]) -> Query
  let _: Query = query.whereField(path, in: values)
  // row: func whereField(_ field: String, notIn values: [Any]) -> Query
  let _: Query = query.whereField(text, notIn: values)
  // row: func whereField(_ path: FieldPath, notIn values: [Any]) -> Query
  let _: Query = query.whereField(path, notIn: values)
  // row: func order(by field: String) -> Query
  let _: Query = query.order(by: text)
  // row: func order(by path: FieldPath) -> Query
  let _: Query = query.order(by: path)
  // row: func order(by field: String, descending: Bool) -> Query
  let _: Query = query.order(by: text, descending: flag)
  // row: func order(by path: FieldPath, descending: Bool) -> Query
  let _: Query = query.order(by: path, descending: flag)
  // row: func limit(to limit: Int) -> Query
  let _: Query = query.limit(to: number)
  // row: func limit(toLast limit: Int) -> Query
  let _: Query = query.limit(toLast: number)
  // row: func start(atDocument document: DocumentSnapshot) -> Query
  let _: Query = query.start(atDocument: snapshot)
  // row: func start(at fieldValues: [Any]) -> Query
  let _: Query = query.start(at: values)
  // row: func start(afterDocument document: DocumentSnapshot) -> Query
  let _: Query = query.start(afterDocument: snapshot)
  // row: func start(after fieldValues: [Any]) -> Query
  let _: Query = query.start(after: values)
  // row: func end(beforeDocument document: DocumentSnapshot) -> Query
  let _: Query = query.end(beforeDocument: snapshot)
  // row: func end(before fieldValues: [Any]) -> Query
  let _: Query = query.end(before: values)
  // row: func end(atDocument document: DocumentSnapshot) -> Query
  let _: Query = query.end(atDocument: snapshot)
  // row: func end(at fieldValues: [Any]) -> Query
  let _: Query = query.end(at: values)
  // row: var count: AggregateQuery { get }
  let _: AggregateQuery = query.count
  // row: func aggregate(_ aggregateFields: [AggregateField]) -> AggregateQuery
  let _: AggregateQuery = query.aggregate(aggregateFields)
}

func useQueryAsync(query: Query, source: FirestoreSource, flag: Bool) async throws {
  // row: func getDocuments() async throws -> QuerySnapshot
  let _: QuerySnapshot = try await query.getDocuments()
  try await query.getDocuments()
  // row: func getDocuments(source: FirestoreSource) async throws -> QuerySnapshot
  let _: QuerySnapshot = try await query.getDocuments(source: source)
  try await query.getDocuments(source: source)
  // row: struct QuerySnapshotsSequence: AsyncSequence
  let sequence: some AsyncSequence<QuerySnapshot, any Error> = QuerySnapshotsSequence(
    query, includeMetadataChanges: flag)
  for try await snapshot in sequence { let _: QuerySnapshot = snapshot }
  // row: struct QuerySnapshotsSequence.Iterator: AsyncIteratorProtocol
  var iterator: QuerySnapshotsSequence.Iterator = query.snapshots.makeAsyncIterator()
  let _: QuerySnapshot? = try await iterator.next()
}
