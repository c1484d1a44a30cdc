internal import Foundation
internal import HearthModel

/// The settings of a decoder, fixed for one run.
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
///
/// Keeps the properties of the document instead of the Firestore object: all threads share that one, and counting references to it would
/// make them wait for each other.
struct DecodingOrigin {
  enum Document {
    case snapshot(DocumentSnapshot)
    /// The document of a dictionary, given by the caller.
    case reference(DocumentReference)
  }

  let document: Document
  var serverTimestampBehavior = ServerTimestampBehavior.none

  var key: DocumentKey {
    switch document {
    case .snapshot(let snapshot): snapshot.key
    case .reference(let reference): reference.key
    }
  }

  var reference: DocumentReference {
    switch document {
    case .snapshot(let snapshot): snapshot.reference
    case .reference(let reference): reference
    }
  }

  var writer: UserDataWriter {
    switch document {
    case .snapshot(let snapshot): UserDataWriter(firestore: snapshot.firestore, behavior: serverTimestampBehavior)
    case .reference(let reference): UserDataWriter(firestore: reference.firestore, behavior: serverTimestampBehavior)
    }
  }
}

/// One run of a decoder. Every run has a context of its own, so that runs on several threads are independent.
final class DecodingContext {
  let options: DecodingOptions
  /// nil where objects are decoded that belong to no document.
  let origin: DecodingOrigin?
  /// The memory that encoded values are read from.
  private let bytes: PinnedBytes?
  let hasDefaultKeys: Bool
  /// True if Firestore's own types are passed through, and no others.
  let handsOverOwnTypes: Bool
  /// Damage that a container found and could not throw.
  private var damage: (any Error)?
  /// The reference of the document, for ``DocumentID``; nil where there is none.
  private(set) lazy var documentReference = origin?.reference

  init(_ options: DecodingOptions, origin: DecodingOrigin? = nil) {
    self.options = options
    self.origin = origin
    bytes = nil
    hasDefaultKeys = options.key.isDefault
    handsOverOwnTypes = options.passthrough == nil
  }

  private init(_ options: DecodingOptions, origin: DecodingOrigin, bytes: PinnedBytes) {
    self.options = options
    self.origin = origin
    self.bytes = bytes
    hasDefaultKeys = options.key.isDefault
    handsOverOwnTypes = options.passthrough == nil
  }

  /// True if nothing but the types decides how values are decoded.
  var isPlain: Bool { hasDefaultKeys && handsOverOwnTypes }

  /// Decodes a document from its stored encoding; nil stands for a document that does not exist.
  static func decode<T: Decodable>(
    _ type: T.Type, from fields: EncodedFields?, origin: DecodingOrigin, options: DecodingOptions
  ) throws -> T {
    guard let fields else { return try DecodingContext(options, origin: origin).decodeRoot(type, from: .null) }
    let bytes = PinnedBytes(fields.bytes)
    // The context keeps the bytes alive for as long as a decoder or a container exists.
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
    do {
      let decoded = try withExtendedLifetime(self) { try root.decode(type) }
      if let damage { throw damage }
      return decoded
    } catch let error as DecodingError {
      throw origin.map { error.naming($0.key) } ?? error
    }
  }

  /// Makes the run fail when it ends; the first report counts.
  func report(_ error: any Error) {
    if damage == nil { damage = error }
  }

  var userInfo: [CodingUserInfoKey: Any] {
    var userInfo = options.userInfo
    if let documentReference { userInfo[.documentReference] = documentReference }
    return userInfo
  }
}

extension DecodingError {
  /// The same error with the document in its text, which errors of the standard library's own types lack, for example those of enums whose
  /// raw value is unknown.
  fileprivate func naming(_ document: DocumentKey) -> DecodingError {
    func named(_ context: Context) -> Context {
      guard !context.debugDescription.contains("document \(document.canonicalString)") else { return context }
      let text =
        context.debugDescription.hasSuffix(".") ? context.debugDescription.dropLast() : context.debugDescription[...]
      return Context(
        codingPath: context.codingPath,
        debugDescription: "\(text)\(CodingPathText.place(context.codingPath, document: document)).",
        underlyingError: context.underlyingError)
    }
    switch self {
    case .typeMismatch(let type, let context): return .typeMismatch(type, named(context))
    case .valueNotFound(let type, let context): return .valueNotFound(type, named(context))
    case .keyNotFound(let key, let context): return .keyNotFound(key, named(context))
    case .dataCorrupted(let context): return .dataCorrupted(named(context))
    @unknown default: return self
    }
  }
}

extension FirebaseDataDecoder.KeyDecodingStrategy {
  fileprivate var isDefault: Bool {
    if case .useDefaultKeys = self { true } else { false }
  }
}
