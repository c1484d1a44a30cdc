internal import Foundation
internal import HearthModel

/// What a decoder's properties say, fixed for one run.
struct DecodingOptions {
  var date: FirebaseDataDecoder.DateDecodingStrategy
  var data: FirebaseDataDecoder.DataDecodingStrategy
  var float: FirebaseDataDecoder.NonConformingFloatDecodingStrategy
  var key: FirebaseDataDecoder.KeyDecodingStrategy
  /// nil for Firestore's own types.
  var passthrough: (any StructureCodingPassthroughTypeResolver.Type)?
  var userInfo: [CodingUserInfoKey: Any]
}

/// The document that is decoded.
struct DecodingOrigin {
  var firestore: Firestore
  var key: DocumentKey
  var serverTimestampBehavior: ServerTimestampBehavior

  var writer: UserDataWriter { UserDataWriter(firestore: firestore, behavior: serverTimestampBehavior) }
}

/// One run of a decoder. Every run has its own, so that runs on several threads do not meet.
final class DecodingContext {
  let options: DecodingOptions
  /// nil where objects are decoded that belong to no document.
  let origin: DecodingOrigin?
  /// The memory that encoded values are read from.
  private let bytes: PinnedBytes?
  let hasDefaultKeys: Bool
  /// What a container found damaged and could not throw.
  private var damage: (any Error)?

  init(_ options: DecodingOptions, origin: DecodingOrigin? = nil) {
    self.options = options
    self.origin = origin
    bytes = nil
    hasDefaultKeys = options.key.isDefault
  }

  private init(_ options: DecodingOptions, origin: DecodingOrigin, bytes: PinnedBytes) {
    self.options = options
    self.origin = origin
    self.bytes = bytes
    hasDefaultKeys = options.key.isDefault
  }

  /// Decodes a document from its stored encoding; nil stands for a document that does not exist.
  static func decode<T: Decodable>(
    _ type: T.Type, from fields: EncodedFields?, origin: DecodingOrigin, options: DecodingOptions
  ) throws -> T {
    guard let fields else { return try DecodingContext(options, origin: origin).decodeRoot(type, from: .null) }
    let bytes = PinnedBytes(fields.bytes)
    // The context keeps the bytes for as long as anybody keeps a decoder or a container.
    return try DecodingContext(options, origin: origin, bytes: bytes).decodeRoot(type, from: .fields(bytes.reader))
  }

  /// Decodes a whole value.
  func decodeRoot<T: Decodable>(_ type: T.Type, from value: StoredValue) throws -> T {
    let root = StoredDecoder(context: self, value: value)
    if root.isNull, !(type is any OptionalType.Type) {
      let found = origin.map { "document \($0.key.canonicalString) does not exist" } ?? "there is no document"
      throw DecodingError.valueNotFound(
        type, DecodingError.Context(codingPath: [], debugDescription: "Expected \(type) value, but \(found)."))
    }
    let decoded = try withExtendedLifetime(self) { try root.decode(type) }
    if let damage { throw damage }
    return decoded
  }

  /// Makes the run fail when it ends; the first report counts.
  func report(_ error: any Error) {
    if damage == nil { damage = error }
  }

  var userInfo: [CodingUserInfoKey: Any] {
    var userInfo = options.userInfo
    if let origin {
      userInfo[.documentReference] = DocumentReference(firestore: origin.firestore, key: origin.key)
    }
    return userInfo
  }
}

extension FirebaseDataDecoder.KeyDecodingStrategy {
  fileprivate var isDefault: Bool {
    if case .useDefaultKeys = self { true } else { false }
  }
}
