public import Foundation

/// Encodes values into Foundation's property-list-like objects: dictionaries, arrays, `NSNumber`, `String`, `NSNull` and
/// what passes through.
///
/// ``Firestore/Encoder`` is this encoder with the settings that suit Firestore. Here dates are encoded as they encode
/// themselves and data as Base64 texts unless the strategies say otherwise.
///
/// An encoder may be used from several threads as long as nobody changes its properties meanwhile.
open class FirebaseDataEncoder {
  /// How `Date` is encoded.
  public enum DateEncodingStrategy {
    /// As a ``Timestamp``.
    case timestamp
    /// As `Date` encodes itself: seconds since 2001.
    case deferredToDate
    /// As a number of seconds. For a date that is no finite number as for NaN and the infinities.
    case secondsSince1970
    /// As a number of milliseconds. For a date that is no finite number as for NaN and the infinities.
    case millisecondsSince1970
    /// As a text like `2024-02-29T12:00:00Z`, without parts of a second.
    case iso8601
    /// As a text that the formatter makes.
    case formatted(DateFormatter)
    /// As the closure encodes it; an empty map if it encodes nothing.
    case custom((_ date: Date, _ encoder: any Swift.Encoder) throws -> Void)
  }

  /// How `Data` is encoded.
  public enum DataEncodingStrategy {
    /// As `Data` encodes itself: an array of numbers.
    case deferredToData
    /// As a Base64 text.
    case base64
    /// As bytes.
    case blob
    /// As the closure encodes it; an empty map if it encodes nothing.
    case custom((_ data: Data, _ encoder: any Swift.Encoder) throws -> Void)
  }

  /// What happens to NaN and the infinities.
  public enum NonConformingFloatEncodingStrategy {
    /// `EncodingError.invalidValue` is thrown.
    case `throw`
    /// They are encoded as these texts.
    case convertToString(positiveInfinity: String, negativeInfinity: String, nan: String)
  }

  /// How a property's key becomes a field's name. Keys of dictionaries with string keys are names already.
  public enum KeyEncodingStrategy {
    /// As it is.
    case useDefaultKeys
    /// `myURLProperty` becomes `my_url_property`.
    case convertToSnakeCase
    /// As the closure says, which gets the whole path with the key as its last element.
    case custom((_ codingPath: [any CodingKey]) -> any CodingKey)
  }

  /// How `Date` is encoded; ``DateEncodingStrategy/deferredToDate`` at first.
  open var dateEncodingStrategy: DateEncodingStrategy = .deferredToDate
  /// How `Data` is encoded; ``DataEncodingStrategy/base64`` at first.
  open var dataEncodingStrategy: DataEncodingStrategy = .base64
  /// What happens to NaN and the infinities; ``NonConformingFloatEncodingStrategy/throw`` at first.
  open var nonConformingFloatEncodingStrategy: NonConformingFloatEncodingStrategy = .throw
  /// How keys become names; ``KeyEncodingStrategy/useDefaultKeys`` at first.
  open var keyEncodingStrategy: KeyEncodingStrategy = .useDefaultKeys
  /// Which values stay as they are; none at first.
  open var passthroughTypeResolver: any StructureCodingPassthroughTypeResolver.Type = NoPassthroughTypes.self
  /// What types find in their encoder's `userInfo`.
  open var userInfo: [CodingUserInfoKey: Any] = [:]

  /// Makes an encoder with the settings that the properties name.
  public init() {}

  /// Encodes a value.
  ///
  /// - Parameter value: Any value, also one that becomes a single object.
  /// - Returns: The object.
  /// - Throws: `EncodingError.invalidValue` for what cannot be encoded, and what types throw themselves.
  open func encode<T: Encodable>(_ value: T) throws -> Any {
    try EncodingContext(
      EncodingOptions(
        date: dateEncodingStrategy, data: dataEncodingStrategy, float: nonConformingFloatEncodingStrategy,
        key: keyEncodingStrategy, passthrough: passthroughTypeResolver, userInfo: userInfo)
    ).encodeRoot(value)
  }
}
