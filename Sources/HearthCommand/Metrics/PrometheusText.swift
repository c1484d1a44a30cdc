/// The text format of Prometheus, version 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats).
enum PrometheusText {
  static let contentType = "text/plain; version=0.0.4; charset=utf-8"

  enum Number: Equatable {
    case whole(Int64)
    case real(Double)
  }

  struct Sample: Equatable {
    var suffix = ""
    /// The upper end of a histogram's range.
    var bound: Double?
    var value: Number
  }

  /// All families in the order of their names, their series in the order of their labels.
  static func text(of metrics: PrometheusMetrics) -> String {
    var text = ""
    for (name, family) in metrics.families() {
      text += "# HELP \(name) \(escapedHelp(family.help))\n# TYPE \(name) \(family.kind.rawValue)\n"
      let lines = family.series.map { labels, series in
        (labels.pairs.map { "\($0.name)=\"\(escapedValue($0.value))\"" }, series)
      }
      for (labels, series) in lines.sorted(by: { $0.0.lexicographicallyPrecedes($1.0) }) {
        for sample in series.samples() {
          let labels = labels + (sample.bound.map { ["le=\"\(describe(.real($0)))\""] } ?? [])
          let braces = labels.isEmpty ? "" : "{\(labels.joined(separator: ","))}"
          text += "\(name)\(sample.suffix)\(braces) \(describe(sample.value))\n"
        }
      }
    }
    return text
  }

  /// A name of letters, digits, `_` and `:` that does not begin with a digit. All other characters become `_`.
  static func metricName(_ label: String) -> String { name(label, allowsColon: true) }

  /// A name as above, without colons. `le` is that of a histogram's ranges, and names that begin with `__` are Prometheus' own.
  static func labelName(_ label: String) -> String {
    let name = name(label, allowsColon: false)
    return name == "le" || name.hasPrefix("__") ? "label_" + name : name
  }

  private static func name(_ label: String, allowsColon: Bool) -> String {
    var name = ""
    for byte in label.utf8 {
      let character = Character(Unicode.Scalar(byte))
      let isAllowed = byte < 0x80 && (character.isLetter || character.isNumber || allowsColon && character == ":")
      name.append(isAllowed ? character : "_")
    }
    return name.first.map { !$0.isNumber } ?? false ? name : "_" + name
  }

  static func escapedValue(_ text: String) -> String {
    escapedHelp(text).replacing("\"", with: "\\\"")
  }

  static func escapedHelp(_ text: String) -> String {
    // Of carriage return and line feed together Swift makes one character, which only a search by scalars takes apart.
    var escaped = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": escaped.append(contentsOf: "\\\\".unicodeScalars)
      case "\n": escaped.append(contentsOf: "\\n".unicodeScalars)
      default: escaped.append(scalar)
      }
    }
    return String(escaped)
  }

  static func describe(_ number: Number) -> String {
    switch number {
    case .whole(let value): return String(value)
    case .real(let value):
      if value.isNaN { return "NaN" }
      if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
      if let whole = Int64(exactly: value), whole.magnitude < 1 << 53 { return String(whole) }
      return "\(value)"
    }
  }
}
