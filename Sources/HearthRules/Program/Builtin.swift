/// A function of the language.
enum Builtin: String, CaseIterable, Sendable {
  case int, float, string, bool, path, debug
  case get, exists, getAfter, existsAfter
  case mathAbs = "math.abs"
  case mathCeil = "math.ceil"
  case mathFloor = "math.floor"
  case mathRound = "math.round"
  case mathSqrt = "math.sqrt"
  case mathPow = "math.pow"
  case mathIsInfinite = "math.isInfinite"
  case mathIsNaN = "math.isNaN"
  case hashingCRC32 = "hashing.crc32"
  case hashingCRC32C = "hashing.crc32c"
  case hashingMD5 = "hashing.md5"
  case hashingSHA256 = "hashing.sha256"
  case durationValue = "duration.value"
  case durationTime = "duration.time"
  case durationAbs = "duration.abs"
  case timestampDate = "timestamp.date"
  case timestampValue = "timestamp.value"
  case latlngValue = "latlng.value"

  /// Names in front of those of functions, such as `math` in `math.abs`. They are not variables.
  static let namespaces: Set<String> = ["math", "hashing", "duration", "timestamp", "latlng"]

  /// The number of arguments; nil for one or more.
  var argumentCount: Int? {
    switch self {
    case .debug: nil
    case .mathPow, .durationValue, .latlngValue: 2
    case .timestampDate: 3
    case .durationTime: 4
    default: 1
    }
  }

  func takes(_ count: Int) -> Bool { argumentCount.map { $0 == count } ?? (count >= 1) }
}

/// The name of a method. Which types have it is known when it is called.
enum Method: String, CaseIterable, Sendable {
  case size, lower, upper, trim, matches, replace, split, toUtf8
  case concat, hasAll, hasAny, hasOnly, join, removeAll, toSet
  case difference, intersection, union
  case diff, get, keys, values
  case addedKeys, affectedKeys, changedKeys, removedKeys, unchangedKeys
  case bind
  case toBase64, toHexString
  case seconds, nanos
  case date, day, dayOfWeek, dayOfYear, hours, minutes, month, time, toMillis, year
  case latitude, longitude, distance

  var argumentCount: Int {
    switch self {
    case .replace, .get: 2
    case .matches, .split, .concat, .hasAll, .hasAny, .hasOnly, .join, .removeAll, .difference, .intersection, .union,
      .diff,
      .bind, .distance:
      1
    default: 0
    }
  }

  /// True if the first argument is a regular expression.
  var hasPattern: Bool { self == .matches || self == .replace || self == .split }
}
