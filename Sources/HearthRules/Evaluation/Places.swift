#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#elseif canImport(Darwin)
  internal import Darwin
#elseif canImport(ucrt)
  internal import ucrt
#endif

/// Distances on the globe, and the functions of `math` that the standard library does not have.
enum Places {
  private static let earthRadiusMeters = 6_371_009.0

  /// The length in meters of the arc between two places, by the haversine formula.
  static func distance(_ left: RuleLatLng, _ right: RuleLatLng) -> Double {
    func radians(_ degrees: Double) -> Double { degrees * .pi / 180 }
    let latitude = sin(radians(right.latitude - left.latitude) / 2)
    let longitude = sin(radians(right.longitude - left.longitude) / 2)
    let part =
      latitude * latitude + longitude * longitude * cos(radians(left.latitude)) * cos(radians(right.latitude))
    return 2 * earthRadiusMeters * asin(min(1, part.squareRoot()))
  }

  static func power(_ base: Double, _ exponent: Double) -> Double { pow(base, exponent) }
}
