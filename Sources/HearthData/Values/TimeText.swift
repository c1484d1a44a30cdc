package import HearthModel

/// Times as words of a command line: a date and a time with its offset from UTC (RFC 3339).
package enum TimeText {
  package static let forms = "2026-03-01T12:30:00Z, 2026-03-01T12:30:00.25Z or 2026-03-01T14:30:00+02:00"

  /// The time that a date, or a date and a time without seconds or offset, most likely means in UTC; nil for other texts.
  package static func meant(by text: String) -> Timestamp? {
    let joined = text.replacing(" ", with: "T")
    return ["", "Z", ":00Z", "T00:00:00Z"].lazy.compactMap { ValueJSON.time(joined + $0) }.first
  }
}
