internal import Foundation
internal import HearthModel

/// A condition of a command line, such as `population >= 1000000`, cut into its three parts.
///
/// Between a field and a symbol no space is needed. A name that is not a plain identifier stands in backquotes.
struct ConditionText: Equatable {
  var field: String
  var op: FieldFilter.Operator
  var value: String

  static let symbols: [(text: String, op: FieldFilter.Operator)] = [
    ("==", .equal), ("!=", .notEqual), ("<=", .lessThanOrEqual), (">=", .greaterThanOrEqual), ("<", .lessThan),
    (">", .greaterThan), ("=", .equal),
  ]

  static let words: [(text: String, op: FieldFilter.Operator)] = [
    ("array-contains-any", .arrayContainsAny), ("array-contains", .arrayContains), ("not-in", .notIn), ("in", .in),
  ]

  init(field: String, op: FieldFilter.Operator, value: String) {
    self.field = field
    self.op = op
    self.value = value
  }

  init(parsing text: String) throws(DataError) {
    let bytes = Array(text.utf8)
    var rest = Self.trimmed(bytes[...])
    let fieldEnd = Self.endOfField(in: rest)
    field = String(decoding: rest[..<fieldEnd], as: UTF8.self)
    rest = Self.trimmed(rest[fieldEnd...])
    guard let (op, end) = Self.operation(at: rest) else {
      let known = (Self.symbols.dropLast() + Self.words).map(\.text).joined(separator: ", ")
      throw DataError(
        "--where \"\(text)\": expected a field, an operator and a value, such as 'population >= 1000000'. The operators are \(known)."
      )
    }
    self.op = op
    value = String(decoding: Self.trimmed(rest[end...]), as: UTF8.self)
    guard !field.isEmpty else { throw DataError("--where \"\(text)\": a field is missing before the operator.") }
    guard !value.isEmpty else {
      throw DataError("--where \"\(text)\": a value is missing; the empty text is written as '\"\"'.")
    }
  }

  private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let start = bytes.firstIndex { $0 != 0x20 && $0 != 0x09 } ?? bytes.endIndex
    let end = bytes.lastIndex { $0 != 0x20 && $0 != 0x09 }.map { $0 + 1 } ?? start
    return bytes[start..<max(start, end)]
  }

  /// The end of the name: a space or a symbol outside of backquotes.
  private static func endOfField(in bytes: ArraySlice<UInt8>) -> Int {
    var isQuoted = false
    var index = bytes.startIndex
    while index < bytes.endIndex {
      switch bytes[index] {
      case UInt8(ascii: "`"): isQuoted.toggle()
      case UInt8(ascii: "\\") where isQuoted: index += 1
      case 0x20 where !isQuoted, 0x09 where !isQuoted, UInt8(ascii: "=") where !isQuoted,
        UInt8(ascii: "!") where !isQuoted, UInt8(ascii: "<") where !isQuoted, UInt8(ascii: ">") where !isQuoted:
        return index
      default: break
      }
      index += 1
    }
    return bytes.endIndex
  }

  private static func operation(at bytes: ArraySlice<UInt8>) -> (FieldFilter.Operator, end: Int)? {
    for symbol in symbols where bytes.starts(with: symbol.text.utf8) {
      return (symbol.op, bytes.startIndex + symbol.text.utf8.count)
    }
    let word = bytes.prefix { $0 != 0x20 && $0 != 0x09 }
    let name = String(decoding: word, as: UTF8.self).lowercased().replacingOccurrences(of: "_", with: "-")
    return words.first { $0.text == name }.map { ($0.op, word.endIndex) }
  }
}
