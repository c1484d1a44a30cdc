internal import HearthModel

/// Times and points in the forms of other programs, and what they most likely mean.
enum TypedForm {
  /// Numbers from here on are milliseconds: as seconds, they would be after the year 5138.
  private static let smallestMilliseconds: Int64 = 100_000_000_000

  /// The time that a date, a number of seconds or milliseconds since 1970, or an object such as `{"seconds": 1, "nanoseconds": 2}` means; nil
  /// if there is none.
  static func time(_ json: JSONText) -> Timestamp? {
    switch json {
    case .string(let text): return TimeText.meant(by: text) ?? Int64(text).flatMap(time(since1970:))
    case .number(let digits): return Int64(digits).flatMap(time(since1970:))
    case .object:
      guard let seconds = number(json, "seconds", "_seconds"), let seconds = Int64(seconds) else { return nil }
      let nanoseconds = number(json, "nanoseconds", "_nanoseconds", "nanos").flatMap { Int32($0) } ?? 0
      guard (0..<1_000_000_000).contains(nanoseconds), Timestamp.validSeconds.contains(seconds) else { return nil }
      return Timestamp(seconds: seconds, nanoseconds: nanoseconds)
    default: return nil
    }
  }

  private static func time(since1970 number: Int64) -> Timestamp? {
    guard number < smallestMilliseconds * 1000, Timestamp.validSeconds.contains(number) || number > 0 else {
      return nil
    }
    guard number >= smallestMilliseconds else { return Timestamp(seconds: number, nanoseconds: 0) }
    return Timestamp(seconds: number / 1000, nanoseconds: Int32(number % 1000) * 1_000_000)
  }

  /// The array of a point that is an object or a text; nil if there is none.
  static func geoPoint(_ json: JSONText) -> String? {
    switch json {
    case .object:
      guard let latitude = number(json, "latitude", "_latitude", "lat"),
        let longitude = number(json, "longitude", "_longitude", "lng", "lon")
      else { return nil }
      return "[\(latitude), \(longitude)]"
    case .string(let text):
      let parts = text.split(separator: ",").map { $0.filter { $0 != " " } }
      guard parts.count == 2, parts.allSatisfy({ Double($0)?.isFinite == true }) else { return nil }
      return "[\(parts[0]), \(parts[1])]"
    default: return nil
    }
  }

  private static func number(_ json: JSONText, _ names: String...) -> String? {
    for name in names {
      switch json.member(name) {
      case .number(let digits)?: return digits
      case .string(let digits)? where Double(digits)?.isFinite == true: return digits
      default: continue
      }
    }
    return nil
  }
}
