import Foundation
import Hearth

/// One city of the demo's data file, shaped like the `cities` of the Firestore documentation's samples.
struct City: Decodable, Sendable {
  struct Location: Decodable, Sendable {
    var latitude: Double
    var longitude: Double
  }

  var id: String
  var name: String
  var state: String
  var country: String
  var capital: Bool
  var population: Int
  var location: Location
  var regions: [String]

  /// The cities that are embedded in the program.
  static func all() throws -> [City] {
    try JSONDecoder().decode([City].self, from: Data(PackageResources.cities_json))
  }

  /// The city as document data.
  var documentData: [String: Any] {
    [
      "name": name, "state": state, "country": country, "capital": capital, "population": population,
      "location": GeoPoint(latitude: location.latitude, longitude: location.longitude), "regions": regions,
    ]
  }
}
