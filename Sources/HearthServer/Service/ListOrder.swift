internal import HearthModel

/// The `order_by` of a ListDocuments request: field paths in the notation of the protocol, separated by commas, each
/// optionally followed by `asc` or `desc`.
enum ListOrder {
  /// - Parameter maximum: The number of orders that are allowed.
  /// - Throws: INVALID_ARGUMENT that names the part that cannot be read.
  static func parse(_ text: String, atMost maximum: Int) throws(StatusError) -> [OrderBy] {
    guard text.utf8.contains(where: { $0 != UInt8(ascii: " ") }) else { return [] }
    var orders: [OrderBy] = []
    let parts = split(text)
    guard parts.count <= maximum else {
      throw .invalid(
        "order_by has \(parts.count) orders; at most \(maximum) are allowed (hearth serve --max-query-components).")
    }
    for part in parts {
      let words = part.split(separator: " ")
      guard let path = words.first, words.count <= 2 else {
        throw .invalid("Invalid order by clause \"\(text)\".")
      }
      let direction: OrderBy.Direction
      switch words.dropFirst().first?.lowercased() {
      case nil, "asc": direction = .ascending
      case "desc": direction = .descending
      case let word?:
        throw .invalid("Invalid order by clause \"\(text)\": \"\(word)\" is not a direction (asc or desc).")
      }
      orders.append(OrderBy(path: try QueryChecks.field(String(path)), direction: direction))
    }
    return orders
  }

  /// Splits at commas outside of backticks.
  private static func split(_ text: String) -> [String] {
    var parts: [String] = [""]
    var isQuoted = false
    for character in text.unicodeScalars {
      if character == "`" { isQuoted.toggle() }
      if character == ",", !isQuoted {
        parts.append("")
      } else {
        parts[parts.count - 1].unicodeScalars.append(character)
      }
    }
    return parts
  }
}
