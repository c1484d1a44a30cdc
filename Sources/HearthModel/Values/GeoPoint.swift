/// A position on earth in degrees. Equality is numeric, except that NaN equals itself.
package struct GeoPoint: Hashable, Sendable {
  /// -90...90 in valid data.
  package var latitude: Double
  /// -180...180 in valid data.
  package var longitude: Double

  package init(latitude: Double, longitude: Double) {
    self.latitude = latitude
    self.longitude = longitude
  }

  /// True if both are within their ranges.
  package var isOnEarth: Bool { (-90...90).contains(latitude) && (-180...180).contains(longitude) }

  /// Latitude first, then longitude.
  package static func compare(_ a: GeoPoint, _ b: GeoPoint) -> Ordering {
    NumberOrder.compare(a.latitude, b.latitude).then(NumberOrder.compare(a.longitude, b.longitude))
  }

  package static func == (a: GeoPoint, b: GeoPoint) -> Bool { compare(a, b) == .same }

  package func hash(into hasher: inout Hasher) {
    // Double's own hash agrees with numeric equality, but not every NaN has the same bits.
    hasher.combine(latitude.isNaN ? .nan : latitude)
    hasher.combine(longitude.isNaN ? .nan : longitude)
  }
}
