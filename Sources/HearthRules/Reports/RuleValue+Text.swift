extension RuleValue {
  /// The value as a person reads it, in the form of the language where it has one; shortened to a number of characters.
  package func text(limit: Int) -> String {
    var writer = ValueTextWriter(limit: limit)
    writer.write(self)
    return writer.text
  }
}

/// Writes values up to a length. Values nest as deep as the limit of values allows.
private struct ValueTextWriter {
  private(set) var text = ""
  private var rest: Int

  /// The fields of a map that are shown. A larger one is a number of fields, since finding the first ones takes long.
  private static let largestMap = 256

  init(limit: Int) { rest = limit }

  private mutating func append(_ piece: String) {
    guard rest >= 0 else { return }
    let scalars = piece.unicodeScalars
    let shown = scalars.prefix(rest)
    text.unicodeScalars.append(contentsOf: shown)
    rest -= shown.count
    guard shown.endIndex < scalars.endIndex else { return }
    text += "…"
    rest = -1
  }

  mutating func write(_ value: RuleValue) {
    guard rest >= 0 else { return }
    switch value {
    case .null, .bool, .int, .float, .path: append((try? value.converted()) ?? "")
    case .string(let text): write(string: text)
    case .bytes(let bytes): write("bytes", hexadecimal: bytes)
    case .timestamp(let time): append("timestamp \(time.text)")
    case .duration(let duration): append("duration \(duration.text)")
    case .latlng(let place): append("latlng(\(place.latitude), \(place.longitude))")
    case .vector(let numbers): writeAll(numbers, in: ("vector [", "]")) { $0.write(.float($1)) }
    case .list(let list): writeAll(list.items, in: ("[", "]")) { $0.write($1) }
    case .set(let set): writeAll(set.items, in: ("set [", "]")) { $0.write($1) }
    case .map(let map): writeFields(map.fields.all)
    case .partialMap(let map): writeFields(map.known.map { ($0.key, $0.value) })
    case .mapDifference(let difference):
      guard difference.statuses.count <= Self.largestMap else {
        return append("diff {… \(difference.statuses.count) keys}")
      }
      writeAll(difference.namedStatuses, in: ("diff {", "}")) { writer, entry in
        writer.write(string: entry.name)
        writer.append(": \(entry.status)")
      }
    case .constraint(let constraint):
      writeAll(constraint.bounds, in: ("constraint {", "}")) { writer, bound in
        writer.append("\(bound.comparator) ")
        writer.write(bound.value)
      }
    }
  }

  private mutating func write(string: String) {
    // A quotation mark may be followed by anything of a document.
    let shown = string.unicodeScalars.prefix(max(0, rest) + 1)
    var escaped = String.UnicodeScalarView("'".unicodeScalars)
    for scalar in shown {
      if scalar == "'" || scalar == "\\" { escaped.append("\\") }
      escaped.append(scalar)
    }
    escaped.append("'")
    append(String(escaped))
  }

  private mutating func write(_ name: String, hexadecimal bytes: [UInt8]) {
    append("\(name) \(BytesText.hexadecimal(Array(bytes.prefix(max(0, rest)))))")
  }

  private mutating func writeFields(_ fields: [RuleFields.Field]) {
    guard fields.count <= Self.largestMap else { return append("{… \(fields.count) fields}") }
    writeAll(fields.sorted { $0.key < $1.key }, in: ("{", "}")) { writer, field in
      writer.write(string: field.key.text)
      writer.append(": ")
      writer.write(field.value)
    }
  }

  private mutating func writeAll<Element>(
    _ elements: [Element], in brackets: (String, String), _ body: (inout ValueTextWriter, Element) -> Void
  ) {
    append(brackets.0)
    for (index, element) in elements.enumerated() {
      guard rest >= 0 else { return }
      if index > 0 { append(", ") }
      body(&self, element)
    }
    append(brackets.1)
  }
}
