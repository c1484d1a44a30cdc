public import Foundation

/// Decodes values from the output of ``FirebaseDataEncoder``.
///
/// ``Firestore/Decoder`` is this decoder with the settings that suit Firestore. By default this decoder reads dates as numbers and data as
/// Base64 texts; the strategies change that.
///
/// Several threads may use a decoder as long as none changes its properties.
open class FirebaseDataDecoder {
  /// The form from which `Date` is decoded.
  public enum DateDecodingStrategy {
    /// A ``Timestamp``.
    case timestamp
    /// The form that `Date` itself decodes: seconds since 2001.
    case deferredToDate
    /// A number of seconds.
    case secondsSince1970
    /// A number of milliseconds.
    case millisecondsSince1970
    /// A text like `2024-02-29T12:00:00Z`, without parts of a second.
    case iso8601
    /// A text that the formatter reads.
    case formatted(DateFormatter)
    /// Any form that the closure decodes.
    case custom((_ decoder: any Swift.Decoder) throws -> Date)
  }

  /// The form from which `Data` is decoded.
  public enum DataDecodingStrategy {
    /// The form that `Data` itself decodes: an array of numbers.
    case deferredToData
    /// A Base64 text.
    case base64
    /// Bytes; also a Base64 text, because early versions of the official SDK wrote that.
    case blob
    /// Any form that the closure decodes.
    case custom((_ decoder: any Swift.Decoder) throws -> Data)
  }

  /// The meaning of a text that replaces a floating-point number.
  public enum NonConformingFloatDecodingStrategy {
    /// `DecodingError.typeMismatch` is thrown.
    case `throw`
    /// These texts are NaN and the infinities.
    case convertFromString(positiveInfinity: String, negativeInfinity: String, nan: String)
  }

  /// The conversion of a field's name into a property's key. Keys of dictionaries with string keys are left alone.
  public enum KeyDecodingStrategy {
    /// The name is the key.
    case useDefaultKeys
    /// `my_url_property` becomes `myUrlProperty`. If several names give the same key, the first in the order of names counts.
    case convertFromSnakeCase
    /// The closure converts the name, the last element of its path argument.
    case custom((_ codingPath: [any CodingKey]) -> any CodingKey)
  }

  /// The form from which `Date` is decoded; the default is ``DateDecodingStrategy/deferredToDate``.
  open var dateDecodingStrategy: DateDecodingStrategy = .deferredToDate
  /// The form from which `Data` is decoded; the default is ``DataDecodingStrategy/base64``.
  open var dataDecodingStrategy: DataDecodingStrategy = .base64
  /// The texts that may stand for numbers; the default is ``NonConformingFloatDecodingStrategy/throw``.
  open var nonConformingFloatDecodingStrategy: NonConformingFloatDecodingStrategy = .throw
  /// The conversion of names into keys; the default is ``KeyDecodingStrategy/useDefaultKeys``.
  open var keyDecodingStrategy: KeyDecodingStrategy = .useDefaultKeys
  /// The types whose values are passed through when exactly that type is requested; none by default.
  open var passthroughTypeResolver: any StructureCodingPassthroughTypeResolver.Type = NoPassthroughTypes.self
  /// The values that types find in their decoder's `userInfo`.
  open var userInfo: [CodingUserInfoKey: Any] = [:]

  /// Makes a decoder with the settings that the properties name.
  public init() {}

  /// Decodes a value.
  ///
  /// - Parameters:
  ///   - t: The type to decode.
  ///   - structure: A result of ``FirebaseDataEncoder/encode(_:)``; `NSNull` is nil for an optional type.
  /// - Returns: The value.
  /// - Throws: `DecodingError` with the coding path, and errors that types throw themselves.
  open func decode<T: Decodable>(_ t: T.Type, from structure: Any) throws -> T {
    let options = DecodingOptions(
      date: dateDecodingStrategy, data: dataDecodingStrategy, float: nonConformingFloatDecodingStrategy,
      key: keyDecodingStrategy, passthrough: passthroughTypeResolver, userInfo: userInfo)
    return try DecodingContext(options).decodeRoot(t, from: .object(structure))
  }
}
