import HearthModel

extension Value {
  /// True if a backend takes the value: its times and points on the globe are in range.
  var isValid: Bool {
    switch self {
    case .timestamp(let time): Timestamp.validSeconds.contains(time.seconds)
    case .geoPoint(let point): (-90...90).contains(point.latitude) && (-180...180).contains(point.longitude)
    case .pendingServerTimestamp(let time, let previous):
      Timestamp.validSeconds.contains(time.seconds) && previous?.isValid ?? true
    case .array(let elements): elements.allSatisfy(\.isValid)
    case .map(let map): map.entries.allSatisfy(\.value.isValid)
    default: true
    }
  }
}
