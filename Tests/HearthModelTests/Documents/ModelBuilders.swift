import HearthModel

// Short forms for the tests of documents, mutations and queries.

func key(_ path: String) -> DocumentKey { try! DocumentKey(parsing: path) }

func path(_ path: String) -> ResourcePath { try! ResourcePath(parsing: path) }

func field(_ path: String) -> FieldPath { try! FieldPath(parsingServerFormat: path) }

func mask(_ paths: String...) -> FieldMask { FieldMask(paths.map(field)) }

func version(_ microseconds: Int64) -> SnapshotVersion { SnapshotVersion(microseconds: microseconds) }

func reference(_ path: String) -> Value {
  .reference(ReferenceValue(database: DatabaseID(projectID: "p"), key: key(path)))
}

func found(_ path: String, _ fields: MapValue, version microseconds: Int64 = 1) -> Document {
  .found(key(path), version: version(microseconds), fields: EncodedFields(fields))
}

func transform(_ path: String, _ operation: TransformOperation) -> FieldTransform {
  FieldTransform(path: field(path), operation: operation)
}

extension Document {
  /// The decoded fields; a test that asks for them knows that they are well formed.
  var values: MapValue { try! fields.decoded() }
}

extension MapValue {
  func value(_ path: String) -> Value? { self[field(path)] }
}
