public import Foundation
internal import HearthModel

/// A type that stands for a point in time, for properties with ``ServerTimestamp``.
public protocol ServerTimestampWrappable {
  /// Makes a value from a stored time.
  ///
  /// - Parameter timestamp: The time, which has microseconds; an estimate where one was asked for.
  /// - Throws: Any error. Decoding the document fails with this error, unchanged.
  static func wrap(_ timestamp: Timestamp) throws -> Self
  /// The time to store.
  ///
  /// - Parameter value: The value of the property.
  /// - Throws: Any error. Encoding the document fails with this error, unchanged.
  static func unwrap(_ value: Self) throws -> Timestamp
}

extension Date: ServerTimestampWrappable {
  /// The timestamp as a date, which may not hold every nanosecond.
  ///
  /// - Parameter timestamp: The stored time.
  public static func wrap(_ timestamp: Timestamp) throws -> Date { timestamp.dateValue() }

  /// The date rounded to the nearest microsecond, so that a date that was read is written back as the stored time.
  ///
  /// - Parameter value: A date of the years 1 to 9999.
  /// - Throws: `EncodingError.invalidValue` for any other.
  public static func unwrap(_ value: Date) throws -> Timestamp { try Timestamp(encoding: value, at: []) }
}

extension Timestamp: ServerTimestampWrappable {
  /// The timestamp itself.
  ///
  /// - Parameter timestamp: The stored time.
  public static func wrap(_ timestamp: Timestamp) throws -> Timestamp { timestamp }

  /// The timestamp itself.
  ///
  /// - Parameter value: The time to store.
  public static func unwrap(_ value: Timestamp) throws -> Timestamp { value }
}

/// A property that the backend fills with the time of the write if it is nil.
///
/// ```swift
/// struct Message: Codable {
///   var text: String
///   @ServerTimestamp var sent: Date?
/// }
/// ```
///
/// Nil is encoded as ``FieldValue/serverTimestamp()``, a value as a timestamp. Until the backend has answered, the
/// ``ServerTimestampBehavior`` of ``DocumentSnapshot/data(as:with:decoder:)`` decides the decoded value: nil by default. A document without
/// the field is an error (`DecodingError.keyNotFound`).
@propertyWrapper
public struct ServerTimestamp<Value: ServerTimestampWrappable & Codable>: Codable {
  /// The time; nil requests the backend's time.
  public var wrappedValue: Value?

  /// Makes the property.
  ///
  /// - Parameter wrappedValue: The time, or nil for the time of the write.
  public init(wrappedValue: Value?) {
    self.wrappedValue = wrappedValue
  }

  /// Decodes null as nil and a timestamp by ``ServerTimestampWrappable/wrap(_:)``.
  ///
  /// - Parameter decoder: The decoder of ``Firestore/Decoder``, or another one whose data has its form of a ``Timestamp``.
  /// - Throws: `DecodingError` for anything else, and errors of `wrap`.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      wrappedValue = nil
    } else {
      wrappedValue = try Value.wrap(try container.decode(Timestamp.self))
    }
  }

  /// Encodes nil as ``FieldValue/serverTimestamp()``, which needs ``Firestore/Encoder``, and a value by
  /// ``ServerTimestampWrappable/unwrap(_:)``.
  ///
  /// - Parameter encoder: The encoder of ``Firestore/Encoder``, or any other for a value that is not nil.
  /// - Throws: ``FirestoreEncodingError/encodingIsNotSupported(_:)`` for nil with another encoder, and errors of `unwrap`.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let wrappedValue {
      try container.encode(timestamp(of: wrappedValue, at: container.codingPath))
    } else {
      try container.encode(FieldValue.serverTimestamp())
    }
  }
}

extension ServerTimestamp {
  /// Returns the result of ``ServerTimestampWrappable/unwrap(_:)``, with the value's place added to its errors.
  private func timestamp(of value: Value, at path: [any CodingKey]) throws -> Timestamp {
    do {
      return try Value.unwrap(value)
    } catch EncodingError.invalidValue(let invalid, let context) where context.codingPath.isEmpty {
      throw EncodingError.invalidValue(
        invalid,
        EncodingError.Context(
          codingPath: path, debugDescription: context.debugDescription, underlyingError: context.underlyingError))
    }
  }
}

extension ServerTimestamp: Equatable where Value: Equatable {}
extension ServerTimestamp: Hashable where Value: Hashable {}
extension ServerTimestamp: Sendable where Value: Sendable {}

extension Timestamp {
  /// A date as an encoder stores it.
  convenience init(encoding date: Date, at path: @autoclosure () -> [any CodingKey]) throws {
    do {
      self.init(try HearthModel.Timestamp(checking: date))
    } catch {
      // Not the date itself: describing one that is no finite number stops the process in Foundation.
      throw EncodingError.invalidValue(
        date.timeIntervalSince1970, EncodingError.Context(codingPath: path(), debugDescription: error.message))
    }
  }
}
