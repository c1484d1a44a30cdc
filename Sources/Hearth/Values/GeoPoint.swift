public import Foundation
internal import HearthModel

/// A position on Earth in degrees. Positions are ordered by latitude, then by longitude; queries by distance are not supported.
public final class GeoPoint: NSObject, NSCopying, Sendable {
  /// Degrees north of the equator, -90 to 90.
  public let latitude: Double
  /// Degrees east of Greenwich, -180 to 180.
  public let longitude: Double

  /// Makes a position.
  ///
  /// - Parameters:
  ///   - latitude: -90 to 90 degrees; anything else, including NaN, is a programming error.
  ///   - longitude: -180 to 180 degrees; anything else, including NaN, is a programming error.
  public init(latitude: Double, longitude: Double) {
    requireValid { () throws(ProgrammingError) in
      try GeoPoint.validate(latitude, name: "latitude", limit: 90)
      try GeoPoint.validate(longitude, name: "longitude", limit: 180)
    }
    self.latitude = latitude
    self.longitude = longitude
  }

  /// Wraps a position that a backend sent, without checks.
  init(_ model: HearthModel.GeoPoint) {
    latitude = model.latitude
    longitude = model.longitude
  }

  /// Two positions are equal when both numbers are; 0.0 and -0.0 differ (firebase-ios-sdk FIRGeoPoint.mm, isEqual).
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? GeoPoint else { return false }
    return latitude.normalizedBits == other.latitude.normalizedBits
      && longitude.normalizedBits == other.longitude.normalizedBits
  }

  /// A hash of both numbers.
  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(latitude.normalizedBits)
    hasher.combine(longitude.normalizedBits)
    return hasher.finalize()
  }

  /// The receiver itself, which never changes.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  /// Both numbers, for logs.
  public override var description: String { "<GeoPoint: (\(latitude), \(longitude))>" }

  var model: HearthModel.GeoPoint { HearthModel.GeoPoint(latitude: latitude, longitude: longitude) }

  static func validate(_ value: Double, name: String, limit: Double) throws(ProgrammingError) {
    guard (-limit...limit).contains(value) else {
      throw ProgrammingError(
        "GeoPoint requires a \(name) value in the range of [-\(Int(limit)), \(Int(limit))], but was \(value)")
    }
  }
}
