public import Foundation

/// Encodes values into Foundation's property-list-like objects: dictionaries, arrays, `NSNumber`, `String`, `NSNull` and values that are
/// passed through.
///
/// ``Firestore/Encoder`` is this encoder with the settings that suit Firestore. By default this encoder writes dates as they encode
/// themselves and data as Base64 texts; the strategies change that.
///
/// Several threads may use an encoder as long as none changes its properties.
open class FirebaseDataEncoder {
  /// The form into which `Date` is encoded.
  public enum DateEncodingStrategy {
    /// A ``Timestamp``.
    case timestamp
    /// The form of `Date` itself: seconds since 2001.
    case deferredToDate
    /// A number of seconds. Dates that are not finite follow the strategy for NaN and the infinities.
    case secondsSince1970
    /// A number of milliseconds. Dates that are not finite follow the strategy for NaN and the infinities.
    case millisecondsSince1970
    /// A text like `2024-02-29T12:00:00Z`, without fractions of a second.
    case iso8601
    /// A text that the formatter makes.
    case formatted(DateFormatter)
    /// The output of the closure; an empty map if it encodes nothing.
    case custom((_ date: Date, _ encoder: any Swift.Encoder) throws -> Void)
  }

  /// The form into which `Data` is encoded.
  public enum DataEncodingStrategy {
    /// The form of `Data` itself: an array of numbers.
    case deferredToData
    /// A Base64 text.
    case base64
    /// Bytes.
    case blob
    /// The output of the closure; an empty map if it encodes nothing.
    case custom((_ data: Data, _ encoder: any Swift.Encoder) throws -> Void)
  }

  /// The treatment of NaN and the infinities.
  public enum NonConformingFloatEncodingStrategy {
    /// `EncodingError.invalidValue` is thrown.
    case `throw`
    /// They are encoded as these texts.
    case convertToString(positiveInfinity: String, negativeInfinity: String, nan: String)
  }

  /// The conversion of a property's key into a field's name. Keys of dictionaries with string keys are not converted.
  public enum KeyEncodingStrategy {
    /// The key is the name.
    case useDefaultKeys
    /// `myURLProperty` becomes `my_url_property`.
    case convertToSnakeCase
    /// The closure converts the key, the last element of its path argument.
    case custom((_ codingPath: [any CodingKey]) -> any CodingKey)
  }

  /// The form into which `Date` is encoded; the default is ``DateEncodingStrategy/deferredToDate``.
  open var dateEncodingStrategy: DateEncodingStrategy = .deferredToDate
  /// The form into which `Data` is encoded; the default is ``DataEncodingStrategy/base64``.
  open var dataEncodingStrategy: DataEncodingStrategy = .base64
  /// The treatment of NaN and the infinities; the default is ``NonConformingFloatEncodingStrategy/throw``.
  open var nonConformingFloatEncodingStrategy: NonConformingFloatEncodingStrategy = .throw
  /// The conversion of keys into names; the default is ``KeyEncodingStrategy/useDefaultKeys``.
  open var keyEncodingStrategy: KeyEncodingStrategy = .useDefaultKeys
  /// The types whose values are passed through unchanged; none by default.
  open var passthroughTypeResolver: any StructureCodingPassthroughTypeResolver.Type = NoPassthroughTypes.self
  /// The values that types find in their encoder's `userInfo`.
  open var userInfo: [CodingUserInfoKey: Any] = [:]

  /// Makes an encoder with the settings that the properties name.
  public init() {}

  /// Encodes a value.
  ///
  /// - Parameter value: Any value, including one that becomes a single object.
  /// - Returns: The object.
  /// - Throws: `EncodingError.invalidValue` for values that cannot be encoded, and errors that types throw themselves.
  open func encode<T: Encodable>(_ value: T) throws -> Any {
    try EncodingContext(
      EncodingOptions(
        date: dateEncodingStrategy, data: dataEncodingStrategy, float: nonConformingFloatEncodingStrategy,
        key: keyEncodingStrategy, passthrough: passthroughTypeResolver, userInfo: userInfo)
    ).encodeRoot(value)
  }
}
