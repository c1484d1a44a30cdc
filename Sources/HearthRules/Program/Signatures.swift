// The types that functions and methods take and give. Evaluation decides by itself (`Machine+Builtins.swift`, `Methods.swift`); the compiler
// warns by these tables, and `TypeWarningTests` compares both for all types.

extension Builtin {
  /// The types of an argument.
  func parameter(_ place: Int) -> ValueTypes {
    switch self {
    case .debug: .any
    case .get, .exists, .getAfter, .existsAfter: .path
    case .int, .float: [.int, .float, .string]
    case .bool: [.bool, .string]
    case .string: .convertible
    case .path: .string
    case .mathAbs, .mathCeil, .mathFloor, .mathRound, .mathSqrt, .mathPow, .mathIsInfinite, .mathIsNaN, .latlngValue:
      .numbers
    case .hashingCRC32, .hashingCRC32C, .hashingMD5, .hashingSHA256: [.bytes, .string]
    case .durationValue: place == 0 ? .int : .string
    case .durationTime, .timestampDate: .int
    case .durationAbs: .duration
    case .timestampValue: [.int, .string]
    }
  }

  /// - Parameter first: The types of the first argument.
  func result(of first: ValueTypes) -> ValueTypes {
    switch self {
    case .debug: first
    case .get, .getAfter: [.map, .null]
    case .exists, .existsAfter, .bool, .mathIsInfinite, .mathIsNaN: .bool
    case .int, .mathRound: .int
    case .float, .mathCeil, .mathFloor, .mathSqrt, .mathPow: .float
    case .mathAbs: first.intersection(.numbers)
    case .string: .string
    case .path: .path
    case .hashingCRC32, .hashingCRC32C, .hashingMD5, .hashingSHA256: .bytes
    case .durationValue, .durationTime, .durationAbs: .duration
    case .timestampDate, .timestampValue: .timestamp
    case .latlngValue: .latlng
    }
  }

  var givesDocument: Bool { self == .get || self == .getAfter }

  var looksUpDocument: Bool { givesDocument || self == .exists || self == .existsAfter }
}

extension Method {
  /// The types that have the method.
  var receivers: ValueTypes {
    switch self {
    case .size: [.string, .bytes, .list, .set, .map]
    case .lower, .upper, .trim, .matches, .replace, .split, .toUtf8: .string
    case .concat, .join, .removeAll, .toSet: .list
    case .hasAll, .hasAny, .hasOnly: [.list, .set]
    case .difference, .intersection, .union: .set
    case .diff, .get, .keys, .values: .map
    case .addedKeys, .affectedKeys, .changedKeys, .removedKeys, .unchangedKeys: .mapDifference
    case .bind: .path
    case .toBase64, .toHexString: .bytes
    case .seconds, .nanos: [.timestamp, .duration]
    case .date, .day, .dayOfWeek, .dayOfYear, .hours, .minutes, .month, .time, .toMillis, .year: .timestamp
    case .latitude, .longitude, .distance: .latlng
    }
  }

  /// The types of an argument.
  ///
  /// - Parameter receiver: The types of the value that has the method.
  func parameter(_ place: Int, of receiver: ValueTypes) -> ValueTypes {
    switch self {
    case .matches, .replace, .split, .join: .string
    case .concat, .removeAll: .list
    case .hasAll, .hasAny, .hasOnly: receiver.canBe(.set) ? [.list, .set] : .list
    case .difference, .intersection, .union: .set
    case .diff, .bind: .map
    case .get: place == 0 ? [.string, .list] : .any
    case .distance: .latlng
    default: .any
    }
  }

  var result: ValueTypes {
    switch self {
    case .size, .seconds, .nanos, .day, .dayOfWeek, .dayOfYear, .hours, .minutes, .month, .toMillis, .year: .int
    case .lower, .upper, .trim, .replace, .join, .toBase64, .toHexString: .string
    case .matches, .hasAll, .hasAny, .hasOnly: .bool
    case .split, .concat, .removeAll, .keys, .values: .list
    case .toUtf8: .bytes
    case .toSet, .difference, .intersection, .union: .set
    case .addedKeys, .affectedKeys, .changedKeys, .removedKeys, .unchangedKeys: .set
    case .diff: .mapDifference
    case .get: .any
    case .bind: .path
    case .date: .timestamp
    case .time: .duration
    case .latitude, .longitude, .distance: .float
    }
  }
}

extension ValueTypes {
  /// The types that become a text, as by `string()` and as a segment of a path.
  static let convertible: ValueTypes = [.null, .bool, .int, .float, .string, .path]
}
