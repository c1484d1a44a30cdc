extension Value {
  /// The value as a `google.firestore.v1.Value` in the JSON of protocol buffers, which keeps its type.
  package var typedJSON: JSONText {
    switch self {
    case .null: .object([("nullValue", .null)])
    case .boolean(let value): .object([("booleanValue", .bool(value))])
    case .integer(let value): .object([("integerValue", .string(String(value)))])
    case .double(let value): .object([("doubleValue", .double(value))])
    case .timestamp(let time): .object([("timestampValue", .string(time.rfc3339))])
    case .pendingServerTimestamp(let time, _): .object([("timestampValue", .string(time.rfc3339))])
    case .string(let value): .object([("stringValue", .string(value))])
    case .bytes(let bytes): .object([("bytesValue", .string(Self.base64(bytes)))])
    case .reference(let reference):
      .object([("referenceValue", .string(reference.database.name(of: reference.key.path)))])
    case .geoPoint(let point): .object([("geoPointValue", Self.json(point))])
    case .array(let elements): .object([("arrayValue", .object([("values", .array(elements.map(\.typedJSON)))]))])
    case .map(let map): .object([("mapValue", .object([("fields", map.typedJSON)]))])
    }
  }

  private static func json(_ point: GeoPoint) -> JSONText {
    .object([("latitude", .double(point.latitude)), ("longitude", .double(point.longitude))])
  }

  /// RFC 4648, section 4.
  private static func base64(_ bytes: [UInt8]) -> String {
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
      for index in 0..<4 {
        let isPadding = index > group.count
        text.append(isPadding ? UInt8(ascii: "=") : digits[bits >> (18 - 6 * index) & 0x3F])
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}

extension MapValue {
  package var typedJSON: JSONText { .object(entries.map { ($0.key, $0.value.typedJSON) }) }
}

extension Timestamp {
  /// The time in UTC, such as `2026-03-01T12:30:00.5Z`, with as many decimals as it has. Outside the years 1 to 9999, which no
  /// valid timestamp is, the nearest time that can be written.
  package var rfc3339: String {
    let valid = min(max(seconds, Self.validSeconds.lowerBound), Self.validSeconds.upperBound)
    let (day, second) = (valid + 62_135_596_800).quotientAndRemainder(dividingBy: 86_400)
    let (year, month, dayOfMonth) = Self.date(ofDay: Int(day))
    let time = [Int(second) / 3600, Int(second) / 60 % 60, Int(second) % 60].map { Self.digits($0, 2) }
    var fraction = nanoseconds == 0 ? "" : "." + Self.digits(Int(nanoseconds), 9)
    while fraction.last == "0" { fraction.removeLast() }
    return "\(Self.digits(year, 4))-\(Self.digits(month, 2))-\(Self.digits(dayOfMonth, 2))T"
      + time.joined(separator: ":") + fraction + "Z"
  }

  /// - Parameter day: Counted from 0 for the first day of year 1.
  private static func date(ofDay day: Int) -> (year: Int, month: Int, day: Int) {
    // The Gregorian calendar repeats every 400 years; the last century of them, and the last year of four, has one day more.
    var rest = day % 146_097
    var year = day / 146_097 * 400 + 1
    let centuries = min(rest / 36_524, 3)
    rest -= centuries * 36_524
    let fours = rest / 1_461
    rest -= fours * 1_461
    let years = min(rest / 365, 3)
    rest -= years * 365
    year += centuries * 100 + fours * 4 + years
    let isLeap = year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
    var month = 1
    for length in [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
      guard rest >= length else { break }
      rest -= length
      month += 1
    }
    return (year, month, rest + 1)
  }

  private static func digits(_ number: Int, _ count: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, count - digits.utf8.count)) + digits
  }
}
