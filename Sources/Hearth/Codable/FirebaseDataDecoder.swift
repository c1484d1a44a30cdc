public import Foundation

/// Decodes values from what ``FirebaseDataEncoder`` makes.
///
/// ``Firestore/Decoder`` is this decoder with the settings that suit Firestore. Here dates and data are decoded as numbers and
/// Base64 texts unless the strategies say otherwise.
///
/// A decoder may be used from several threads as long as nobody changes its properties meanwhile.
open class FirebaseDataDecoder {
  /// What `Date` is decoded from.
  public enum DateDecodingStrategy {
    /// A ``Timestamp``.
    case timestamp
    /// What `Date` decodes itself from: seconds since 2001.
    case deferredToDate
    /// A number of seconds.
    case secondsSince1970
    /// A number of milliseconds.
    case millisecondsSince1970
    /// A text like `2024-02-29T12:00:00Z`, without parts of a second.
    case iso8601
    /// A text that the formatter reads.
    case formatted(DateFormatter)
    /// What the closure decodes.
    case custom((_ decoder: any Swift.Decoder) throws -> Date)
  }

  /// What `Data` is decoded from.
  public enum DataDecodingStrategy {
    /// What `Data` decodes itself from: an array of numbers.
    case deferredToData
    /// A Base64 text.
    case base64
    /// Bytes; also a Base64 text, because early versions of the official SDK wrote that.
    case blob
    /// What the closure decodes.
    case custom((_ decoder: any Swift.Decoder) throws -> Data)
  }

  /// What texts in the place of a floating-point number mean.
  public enum NonConformingFloatDecodingStrategy {
    /// `DecodingError.typeMismatch` is thrown.
    case `throw`
    /// These texts are NaN and the infinities.
    case convertFromString(positiveInfinity: String, negativeInfinity: String, nan: String)
  }

  /// How a field's name becomes a property's key. Keys of dictionaries with string keys are left alone.
  public enum KeyDecodingStrategy {
    /// As it is.
    case useDefaultKeys
    /// `my_url_property` becomes `myUrlProperty`. Of several names that give one key, the first in the order of names counts.
    case convertFromSnakeCase
    /// As the closure says, which gets the whole path with the name as its last element.
    case custom((_ codingPath: [any CodingKey]) -> any CodingKey)
  }

  /// What `Date` is decoded from; ``DateDecodingStrategy/deferredToDate`` at first.
  open var dateDecodingStrategy: DateDecodingStrategy = .deferredToDate
  /// What `Data` is decoded from; ``DataDecodingStrategy/base64`` at first.
  open var dataDecodingStrategy: DataDecodingStrategy = .base64
  /// What texts may stand for numbers; ``NonConformingFloatDecodingStrategy/throw`` at first.
  open var nonConformingFloatDecodingStrategy: NonConformingFloatDecodingStrategy = .throw
  /// How names become keys; ``KeyDecodingStrategy/useDefaultKeys`` at first.
  open var keyDecodingStrategy: KeyDecodingStrategy = .useDefaultKeys
  /// Which values are handed through where exactly their type is asked for; none at first.
  open var passthroughTypeResolver: any StructureCodingPassthroughTypeResolver.Type = NoPassthroughTypes.self
  /// What types find in their decoder's `userInfo`.
  open var userInfo: [CodingUserInfoKey: Any] = [:]

  /// Makes a decoder with the settings that the properties name.
  public init() {}

  /// Decodes a value.
  ///
  /// - Parameters:
  ///   - t: What to decode.
  ///   - structure: What ``FirebaseDataEncoder/encode(_:)`` gives; `NSNull` is nil for an optional type.
  /// - Returns: The value.
  /// - Throws: `DecodingError` with the coding path, and what types throw themselves.
  open func decode<T: Decodable>(_ t: T.Type, from structure: Any) throws -> T {
    let options = DecodingOptions(
      date: dateDecodingStrategy, data: dataDecodingStrategy, float: nonConformingFloatDecodingStrategy,
      key: keyDecodingStrategy, passthrough: passthroughTypeResolver, userInfo: userInfo)
    return try DecodingContext(options).decodeRoot(t, from: .object(structure))
  }
}
