public import Foundation
internal import HearthModel

/// A vector of numbers, for nearest-neighbour search. Its elements are always stored as doubles.
public final class VectorValue: NSObject, NSCopying, Sendable {
  /// The elements in order.
  public let array: [Double]

  /// Makes a vector of these elements. The client accepts any number of them; the backend stores 2,048 at most (Firestore
  /// documentation of vector search).
  public init(_ array: [Double]) {
    self.array = array
  }

  /// Two vectors are equal when they have the same elements in the same order; 0.0 and -0.0 differ, as in ``GeoPoint``.
  ///
  /// The official SDK compares the elements as `NSNumber`s (firebase-ios-sdk FIRVectorValue.m, isEqual). The published CoreFoundation
  /// distinguishes the zeros, and treats NaN as equal to NaN (CFNumber.c, CFNumberCompare).
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? VectorValue else { return false }
    return array.elementsEqual(other.array) { $0.normalizedBits == $1.normalizedBits }
  }

  /// A hash of the elements.
  public override var hash: Int {
    var hasher = Hasher()
    for element in array { hasher.combine(element.normalizedBits) }
    return hasher.finalize()
  }

  /// The receiver itself, which never changes.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  /// The elements, for logs.
  public override var description: String { "<VectorValue: \(array)>" }
}
