import Hearth

/// A value as applications declare them.
struct CodableCity: Codable, Sendable {
  @DocumentID var id: String?
  @ServerTimestamp var createdAt: Timestamp?
  @ExplicitNull var mayor: String?
  var name: String
}

/// A type of the application's own that a document's id can become.
struct CityID: Codable, DocumentIDWrappable {
  var path: String
  static func wrap(_ documentReference: DocumentReference) throws -> CityID { CityID(path: documentReference.path) }
}

/// A type of the application's own that a server timestamp can become.
struct Moment: Codable, ServerTimestampWrappable {
  var seconds: Int64
  static func wrap(_ timestamp: Timestamp) throws -> Moment { Moment(seconds: timestamp.seconds) }
  static func unwrap(_ value: Moment) throws -> Timestamp { Timestamp(seconds: value.seconds, nanoseconds: 0) }
}

// section: CollectionReference

func useCodableCollection(collection: CollectionReference, city: CodableCity, done: @escaping ((any Error)?) -> Void)
  throws
{
  // row: func addDocument<T: Encodable>(from value: T, encoder: Firestore.Encoder = Firestore.Encoder(),
  //   completion: (((any Error)?) -> Void)? = nil) throws -> DocumentReference
  let _: DocumentReference = try collection.addDocument(from: city, encoder: Firestore.Encoder(), completion: done)
  try collection.addDocument(from: city)
}

// section: DocumentReference

func useCodableDocument(
  document: DocumentReference, city: CodableCity, flag: Bool, values: [Any], done: @escaping ((any Error)?) -> Void
) throws {
  // row: func setData<T: Encodable>(from value: T, encoder: Firestore.Encoder = Firestore.Encoder(), completion:
  //   (((any Error)?) -> Void)? = nil) throws
  try document.setData(from: city, encoder: Firestore.Encoder(), completion: done)
  try document.setData(from: city)
  // row: func setData<T: Encodable>(from value: T, merge: Bool, encoder: Firestore.Encoder = Firestore.Encoder(),
  //   completion: (((any Error)?) -> Void)? = nil) throws
  try document.setData(from: city, merge: flag, encoder: Firestore.Encoder(), completion: done)
  try document.setData(from: city, merge: flag)
  // row: func setData<T: Encodable>(from value: T, mergeFields: [Any], encoder: Firestore.Encoder =
  //   Firestore.Encoder(), completion: (((any Error)?) -> Void)? = nil) throws
  try document.setData(from: city, mergeFields: values, encoder: Firestore.Encoder(), completion: done)
  try document.setData(from: city, mergeFields: values)
  // row: func getDocument<T: Decodable>(as type: T.Type, with serverTimestampBehavior: ServerTimestampBehavior =
  //   .none, decoder: Firestore.Decoder = .init(), source: FirestoreSource = .default, completion: @escaping
  //   (Result<T, any Error>) -> Void)
  document.getDocument(as: CodableCity.self, with: .estimate, decoder: Firestore.Decoder(), source: .cache) {
    (result: Result<CodableCity, any Error>) in
    _ = result
  }
  document.getDocument(as: CodableCity.self) { (result: Result<CodableCity, any Error>) in _ = result }
}

func useCodableDocumentAsync(document: DocumentReference) async throws {
  // row: func getDocument<T: Decodable>(as type: T.Type, with serverTimestampBehavior: ServerTimestampBehavior =
  //   .none, decoder: Firestore.Decoder = .init(), source: FirestoreSource = .default) async throws -> T
  let _: CodableCity = try await document.getDocument(
    as: CodableCity.self, with: .previous, decoder: Firestore.Decoder(), source: .server)
  let _: CodableCity? = try await document.getDocument(as: CodableCity?.self)
}

// section: DocumentSnapshot

func useCodableSnapshot(snapshot: DocumentSnapshot) throws {
  // row: func data<T: Decodable>(as type: T.Type, with serverTimestampBehavior: ServerTimestampBehavior = .none,
  //   decoder: Firestore.Decoder = .init()) throws -> T
  let _: CodableCity = try snapshot.data(as: CodableCity.self, with: .estimate, decoder: Firestore.Decoder())
  let _: CodableCity? = try snapshot.data(as: CodableCity?.self)
}

// section: WriteBatch

func useCodableWriteBatch(batch: WriteBatch, document: DocumentReference, city: CodableCity, flag: Bool, values: [Any])
  throws
{
  // row: func setData<T: Encodable>(from value: T, forDocument doc: DocumentReference, encoder: Firestore.Encoder
  //   = Firestore.Encoder()) throws -> WriteBatch
  let _: WriteBatch = try batch.setData(from: city, forDocument: document, encoder: Firestore.Encoder())
  try batch.setData(from: city, forDocument: document)
  // row: func setData<T: Encodable>(from value: T, forDocument doc: DocumentReference, merge: Bool, encoder:
  //   Firestore.Encoder = Firestore.Encoder()) throws -> WriteBatch
  let _: WriteBatch = try batch.setData(from: city, forDocument: document, merge: flag, encoder: Firestore.Encoder())
  try batch.setData(from: city, forDocument: document, merge: flag)
  // row: func setData<T: Encodable>(from value: T, forDocument doc: DocumentReference, mergeFields: [Any],
  //   encoder: Firestore.Encoder = Firestore.Encoder()) throws -> WriteBatch
  let _: WriteBatch = try batch.setData(
    from: city, forDocument: document, mergeFields: values, encoder: Firestore.Encoder())
  try batch.setData(from: city, forDocument: document, mergeFields: values)
}

// section: Transaction, TransactionOptions

func useCodableTransaction(
  transaction: Transaction, document: DocumentReference, city: CodableCity, flag: Bool, values: [Any]
) throws {
  // row: func setData<T: Encodable>(from value: T, forDocument doc: DocumentReference, encoder: Firestore.Encoder
  //   = Firestore.Encoder()) throws -> Transaction
  let _: Transaction = try transaction.setData(from: city, forDocument: document, encoder: Firestore.Encoder())
  try transaction.setData(from: city, forDocument: document)
  // row: func setData<T: Encodable>(from value: T, forDocument doc: DocumentReference, merge: Bool, encoder:
  //   Firestore.Encoder = Firestore.Encoder()) throws -> Transaction
  let _: Transaction = try transaction.setData(
    from: city, forDocument: document, merge: flag, encoder: Firestore.Encoder())
  try transaction.setData(from: city, forDocument: document, merge: flag)
  // row: func setData<T: Encodable>(from value: T, forDocument doc: DocumentReference, mergeFields: [Any],
  //   encoder: Firestore.Encoder = Firestore.Encoder()) throws -> Transaction
  let _: Transaction = try transaction.setData(
    from: city, forDocument: document, mergeFields: values, encoder: Firestore.Encoder())
  try transaction.setData(from: city, forDocument: document, mergeFields: values)
}

// section: Codable layer (details in codable.md)

func useCoders(
  encoder: Firestore.Encoder, decoder: Firestore.Decoder, city: CodableCity, value: Any, document: DocumentReference?
) throws {
  // row: class Firestore.Encoder
  let _: Firestore.Encoder = Firestore.Encoder()
  encoder.dateEncodingStrategy = .timestamp
  encoder.dataEncodingStrategy = .blob
  encoder.nonConformingFloatEncodingStrategy = .throw
  encoder.keyEncodingStrategy = .convertToSnakeCase
  encoder.userInfo = [:]
  // row: Firestore.Encoder.encode<T: Encodable>(_ value: T) throws -> [String: Any]
  let _: [String: Any] = try encoder.encode(city)
  // row: class Firestore.Decoder
  let _: Firestore.Decoder = Firestore.Decoder()
  decoder.dateDecodingStrategy = .timestamp
  decoder.dataDecodingStrategy = .blob
  decoder.nonConformingFloatDecodingStrategy = .throw
  decoder.keyDecodingStrategy = .convertFromSnakeCase
  decoder.userInfo = [:]
  // row: Firestore.Decoder.decode<T: Decodable>(_ t: T.Type, from data: Any) throws -> T
  let _: CodableCity = try decoder.decode(CodableCity.self, from: value)
  // row: Firestore.Decoder.decode<T: Decodable>(_ t: T.Type, from data: Any, in reference: DocumentReference?)
  //   throws -> T
  let _: CodableCity = try decoder.decode(CodableCity.self, from: value, in: document)
  let _: CodableCity = try decoder.decode(CodableCity.self, from: value, in: nil)
  // row: @propertyWrapper struct DocumentID<Value: DocumentIDWrappable & Codable>
  let id: DocumentID<String> = DocumentID(wrappedValue: nil)
  let _: String? = id.wrappedValue
  let _: any Codable & Hashable & Sendable = id
  // row: protocol DocumentIDWrappable { static func wrap(_ documentReference: DocumentReference) throws -> Self }
  let _: [any DocumentIDWrappable.Type] = [String.self, DocumentReference.self, CityID.self]
  let _: DocumentID<CityID> = DocumentID(wrappedValue: nil)
  // row: @propertyWrapper struct ServerTimestamp<Value: ServerTimestampWrappable & Codable>: Codable
  let timestamp: ServerTimestamp<Date> = ServerTimestamp(wrappedValue: nil)
  let _: Date? = timestamp.wrappedValue
  let _: any Codable & Hashable & Sendable = timestamp
  // row: protocol ServerTimestampWrappable { static func wrap(_ timestamp: Timestamp) throws -> Self; static func
  //   unwrap(_ value: Self) throws -> Timestamp }
  let _: [any ServerTimestampWrappable.Type] = [Date.self, Timestamp.self, Moment.self]
  let _: ServerTimestamp<Moment> = ServerTimestamp(wrappedValue: nil)
  // row: @propertyWrapper struct ExplicitNull<Value>
  let null: ExplicitNull<Int> = ExplicitNull(wrappedValue: nil)
  let _: Int? = null.wrappedValue
  let _: any Codable & Hashable & Sendable = null
  // row: enum FirestoreDecodingError: Error { case decodingIsNotSupported(String), fieldNameConflict(String) }
  let _: [FirestoreDecodingError] = [.decodingIsNotSupported(""), .fieldNameConflict("")]
  let _: any Error = FirestoreDecodingError.decodingIsNotSupported("")
  // row: enum FirestoreEncodingError: Error { case encodingIsNotSupported(String) }
  let _: any Error = FirestoreEncodingError.encodingIsNotSupported("")
  // row: class FirebaseDataEncoder (module FirebaseSharedSwift)
  let general: FirebaseDataEncoder = FirebaseDataEncoder()
  general.dateEncodingStrategy = .iso8601
  general.dataEncodingStrategy = .base64
  general.nonConformingFloatEncodingStrategy = .throw
  general.keyEncodingStrategy = .useDefaultKeys
  general.userInfo = [:]
  let _: Any = try general.encode(city)
  // row: class FirebaseDataDecoder (module FirebaseSharedSwift)
  let generalDecoder: FirebaseDataDecoder = FirebaseDataDecoder()
  generalDecoder.dateDecodingStrategy = .iso8601
  generalDecoder.dataDecodingStrategy = .base64
  generalDecoder.nonConformingFloatDecodingStrategy = .throw
  generalDecoder.keyDecodingStrategy = .useDefaultKeys
  generalDecoder.userInfo = [:]
  let _: CodableCity = try generalDecoder.decode(CodableCity.self, from: value)
  // row: static var FirebaseDataEncoder.DateEncodingStrategy.timestamp
  let _: FirebaseDataEncoder.DateEncodingStrategy = .timestamp
  // row: static var FirebaseDataDecoder.DateDecodingStrategy.timestamp
  let _: FirebaseDataDecoder.DateDecodingStrategy = .timestamp
  // row: protocol StructureCodingPassthroughTypeResolver, protocol StructureCodingUncodedUnkeyed
  let _: (any StructureCodingPassthroughTypeResolver.Type, any StructureCodingUncodedUnkeyed.Type)? = nil
  let _: any StructureCodingPassthroughTypeResolver.Type = general.passthroughTypeResolver
}
