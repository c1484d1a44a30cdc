import Hearth

/// The conformances that the official API promises, checked by the compiler.
enum Conformances {
  static func sendable<T: Sendable>(_: T.Type) {}
  static func hashable<T: Hashable>(_: T.Type) {}
  static func copying<T: NSCopying>(_: T.Type) {}

  static func all() {
    sendable(Firestore.self)
    sendable(Query.self)
    sendable(CollectionReference.self)
    sendable(DocumentReference.self)
    sendable(DocumentSnapshot.self)
    sendable(QueryDocumentSnapshot.self)
    sendable(QuerySnapshot.self)
    sendable(DocumentChange.self)
    sendable(SnapshotMetadata.self)
    sendable(SnapshotListenOptions.self)
    sendable(FieldPath.self)
    sendable(FieldValue.self)
    sendable(VectorValue.self)
    sendable(GeoPoint.self)
    sendable(Timestamp.self)
    sendable(Filter.self)
    sendable(AggregateField.self)
    sendable(AggregateQuery.self)
    sendable(AggregateQuerySnapshot.self)
    sendable(LoadBundleTaskProgress.self)
    sendable(QuerySnapshotsSequence.self)
    sendable(DocumentSnapshotsSequence.self)

    hashable(FirestoreSettings.self)
    hashable(PersistentCacheSettings.self)
    hashable(MemoryCacheSettings.self)
    hashable(Query.self)
    hashable(DocumentReference.self)
    hashable(DocumentSnapshot.self)
    hashable(QuerySnapshot.self)
    hashable(SnapshotMetadata.self)
    hashable(FieldPath.self)
    hashable(FieldValue.self)
    hashable(VectorValue.self)
    hashable(GeoPoint.self)
    hashable(Timestamp.self)
    hashable(AggregateField.self)
    hashable(AggregateQuery.self)

    copying(FirestoreSettings.self)
    copying(FieldPath.self)
    copying(FirebaseOptions.self)
    copying(TransactionOptions.self)
  }
}
