import Foundation
import HearthModel
import Testing

@testable import Hearth

/// Encodes, decodes both ways, and takes errors apart.
struct CodingFixture {
  let firestore: Firestore
  let reference: DocumentReference

  init() throws {
    firestore = try TestFirestore().firestore
    reference = firestore.document("rooms/eros")
  }

  /// A snapshot whose document has these fields; nil for one that does not exist.
  func snapshot(_ fields: MapValue?) -> DocumentSnapshot {
    snapshot(encoded: fields.map { EncodedFields($0) })
  }

  func snapshot(encoded: EncodedFields?) -> DocumentSnapshot {
    let document = encoded.map {
      Document.found(
        reference.key, version: SnapshotVersion(HearthModel.Timestamp(seconds: 1, nanoseconds: 0)), fields: $0)
    }
    return DocumentSnapshot(
      firestore: firestore, key: reference.key, document: document, isFromCache: false, hasPendingWrites: false)
  }

  /// Decodes from the stored encoding and from the dictionary, and expects the same of both.
  func decode<T: Decodable & Equatable>(
    _ type: T.Type, _ fields: MapValue, with behavior: ServerTimestampBehavior = .none,
    decoder: Firestore.Decoder = .init(), sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> T {
    let snapshot = snapshot(fields)
    let fromBytes = Result { try snapshot.data(as: type, with: behavior, decoder: decoder) }
    let dictionary = try #require(snapshot.data(with: behavior), sourceLocation: sourceLocation)
    let fromObjects = Result { try decoder.decode(type, from: dictionary, in: reference) }
    switch (fromBytes, fromObjects) {
    case (.success(let a), .success(let b)): #expect(a == b, sourceLocation: sourceLocation)
    case (.failure(let a), .failure(let b)):
      #expect("\(a)" == "\(b)", sourceLocation: sourceLocation)
    default: Issue.record("bytes: \(fromBytes), objects: \(fromObjects)", sourceLocation: sourceLocation)
    }
    return try fromBytes.get()
  }

  /// The error of decoding both ways.
  func failure<T: Decodable>(
    _ type: T.Type, _ fields: MapValue, decoder: Firestore.Decoder = .init()
  ) throws -> DecodingFailure {
    let fromBytes = #expect(throws: (any Error).self) { try snapshot(fields).data(as: type, decoder: decoder) }
    let dictionary = try #require(snapshot(fields).data())
    let fromObjects = #expect(throws: (any Error).self) {
      try decoder.decode(type, from: dictionary, in: reference)
    }
    #expect("\(fromBytes, default: "")" == "\(fromObjects, default: "")")
    return DecodingFailure(try #require(fromBytes))
  }

  /// Expects the result of an encoder, compared as Foundation objects.
  func expect<T: Encodable>(
    _ value: T, encodesTo expected: [String: Any], encoder: Firestore.Encoder = .init(),
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let encoded = try encoder.encode(value)
    #expect(encoded as NSDictionary == expected as NSDictionary, sourceLocation: sourceLocation)
  }

  /// Encodes, stores, and decodes again.
  func roundTrip<T: Codable & Equatable>(
    _ value: T, encoder: Firestore.Encoder = .init(), decoder: Firestore.Decoder = .init(),
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let encoded = try encoder.encode(value)
    #expect(try decoder.decode(T.self, from: encoded, in: reference) == value, sourceLocation: sourceLocation)
    let mutation = try UserDataReader.set(encoded, key: reference.key, databaseID: firestore.databaseID)
    guard case .set(let fields) = mutation.operation else {
      Issue.record("no set: \(mutation)")
      return
    }
    #expect(try snapshot(encoded: fields).data(as: T.self, decoder: decoder) == value, sourceLocation: sourceLocation)
  }
}

/// The parts of a `DecodingError`.
struct DecodingFailure: Equatable {
  enum Kind { case typeMismatch, valueNotFound, keyNotFound, dataCorrupted, other }

  var kind: Kind
  /// Joined by slashes.
  var path: String
  var text: String

  init(_ error: any Error) {
    let context: DecodingError.Context?
    var missing: [any CodingKey] = []
    switch error {
    case DecodingError.typeMismatch(_, let found): (kind, context) = (.typeMismatch, found)
    case DecodingError.valueNotFound(_, let found): (kind, context) = (.valueNotFound, found)
    case DecodingError.keyNotFound(let key, let found):
      (kind, context) = (.keyNotFound, found)
      missing = [key]
    case DecodingError.dataCorrupted(let found): (kind, context) = (.dataCorrupted, found)
    default: (kind, context) = (.other, nil)
    }
    path = ((context?.codingPath ?? []) + missing).map(\.stringValue).joined(separator: "/")
    text = context?.debugDescription ?? "\(error)"
  }
}
