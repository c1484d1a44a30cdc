public import Foundation
internal import HearthModel

/// An operation on a field, for use as a value in `setData`, `updateData` and similar calls.
///
/// ```swift
/// try await city.updateData([
///   "visits": FieldValue.increment(Int64(1)),
///   "tags": FieldValue.arrayUnion(["coast"]),
///   "seen": FieldValue.serverTimestamp(),
///   "draft": FieldValue.delete(),
/// ])
/// ```
///
/// Offline, the cache shows the operation's result on the locally known data; after the acknowledgement the backend's result replaces it.
/// Inside arrays and in queries a field value is a programming error.
public final class FieldValue: NSObject, Sendable {
  enum Kind: Hashable, Sendable {
    case delete
    case transform(TransformOperation)
    /// An array transform with elements that no write can have.
    case invalid(InvalidElements)
  }

  /// The error that the first write with this value reports. The official SDK, too, checks the elements when they are written
  /// (firebase-ios-sdk FSTUserDataReader.mm, parseArrayTransformElements): a value that is never written breaks no rule.
  final class InvalidElements: Hashable, Sendable {
    let methodName: String
    let error: ProgrammingError

    init(methodName: String, error: ProgrammingError) {
      self.methodName = methodName
      self.error = error
    }

    /// The elements themselves are not kept, so only the same call's result is known to be equal.
    static func == (a: InvalidElements, b: InvalidElements) -> Bool { a === b }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
  }

  let kind: Kind

  private init(_ kind: Kind) {
    self.kind = kind
  }

  /// Removes the field. Legal at the top level of `updateData`, and at any depth of `setData` with merging; a programming error
  /// elsewhere.
  public class func delete() -> FieldValue { FieldValue(.delete) }

  /// The time at which the backend commits the write, the same for all fields of a batch. Until then ``ServerTimestampBehavior`` decides
  /// the value of the field, and it is ordered after all other times.
  public class func serverTimestamp() -> FieldValue { FieldValue(.transform(.serverTimestamp)) }

  /// Appends the elements that the array does not have yet. A field that is not an array becomes an array of the elements.
  ///
  /// - Parameter elements: Values of any supported type except arrays and field values. Others are a programming error of the
  ///   call that writes this value.
  public class func arrayUnion(_ elements: [Any]) -> FieldValue {
    arrayTransform("FieldValue.arrayUnion()", elements) { .arrayUnion($0) }
  }

  /// Removes all occurrences of the elements from the array. A field that is not an array becomes an empty one.
  ///
  /// - Parameter elements: Values of any supported type except arrays and field values. Others are a programming error of the
  ///   call that writes this value.
  public class func arrayRemove(_ elements: [Any]) -> FieldValue {
    arrayTransform("FieldValue.arrayRemove()", elements) { .arrayRemove($0) }
  }

  private static func arrayTransform(
    _ methodName: String, _ elements: [Any], _ operation: ([Value]) -> TransformOperation
  ) -> FieldValue {
    do {
      return FieldValue(.transform(operation(try UserDataReader.parseElements(elements))))
    } catch {
      return FieldValue(.invalid(InvalidElements(methodName: methodName, error: error)))
    }
  }

  /// Adds a number in double precision, so that the sum is a double. A field that is missing or not a number becomes the operand. Several
  /// increments add up, even offline.
  @_disfavoredOverload
  public class func increment(_ d: Double) -> FieldValue { FieldValue(.transform(.increment(.double(d)))) }

  /// Adds an integer. The sum of two integers stays at the limits of `Int64` instead of overflowing; the sum with a double is a double. A
  /// field that is missing or not a number becomes the operand. Several increments add up, even offline.
  public class func increment(_ l: Int64) -> FieldValue { FieldValue(.transform(.increment(.integer(l)))) }

  /// Sets the field to the smaller of its value and the operand. A field that is missing or not a number becomes the operand; numerically
  /// equal values stay as they are stored.
  @_disfavoredOverload
  public class func minimum(_ d: Double) -> FieldValue { FieldValue(.transform(.minimum(.double(d)))) }

  /// Sets the field to the smaller of its value and the operand. A field that is missing or not a number becomes the operand; numerically
  /// equal values stay as they are stored.
  public class func minimum(_ l: Int64) -> FieldValue { FieldValue(.transform(.minimum(.integer(l)))) }

  /// Sets the field to the larger of its value and the operand. A field that is missing or not a number becomes the operand; numerically
  /// equal values stay as they are stored.
  @_disfavoredOverload
  public class func maximum(_ d: Double) -> FieldValue { FieldValue(.transform(.maximum(.double(d)))) }

  /// Sets the field to the larger of its value and the operand. A field that is missing or not a number becomes the operand; numerically
  /// equal values stay as they are stored.
  public class func maximum(_ l: Int64) -> FieldValue { FieldValue(.transform(.maximum(.integer(l)))) }

  /// Makes a vector of these elements, which is an ordinary value and not an operation.
  public class func vector(_ array: [Double]) -> VectorValue { VectorValue(array) }

  /// Makes a vector of these elements, widened to doubles.
  public class func vector(_ array: [Float]) -> VectorValue { VectorValue(array.map(Double.init)) }

  /// Two field values are equal when they stand for the same operation with equal operands.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? FieldValue else { return false }
    return kind == other.kind
  }

  /// A hash of the operation and its operands.
  public override var hash: Int { kind.hashValue }

  /// The call that makes this value, without operands, for messages.
  public override var description: String { methodName }

  var methodName: String {
    switch kind {
    case .delete: "FieldValue.delete()"
    case .invalid(let elements): elements.methodName
    case .transform(.serverTimestamp): "FieldValue.serverTimestamp()"
    case .transform(.increment): "FieldValue.increment()"
    case .transform(.arrayUnion): "FieldValue.arrayUnion()"
    case .transform(.arrayRemove): "FieldValue.arrayRemove()"
    case .transform(.minimum): "FieldValue.minimum()"
    case .transform(.maximum): "FieldValue.maximum()"
    }
  }
}
