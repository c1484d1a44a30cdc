/// The XML form of a property list, read from front to back without recursion.
///
/// Supports the entities of XML itself and single characters by number; entities that a document declares are never expanded.
struct XMLPropertyList {
  private typealias Fault = PropertyListEntries.Fault
  private typealias Entry = PropertyListEntries.Entry

  private enum Token {
    case start(name: String, isEmpty: Bool)
    case end(name: String)
  }

  private let bytes: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  mutating func entries(
    _ names: Set<String>
  ) throws(PropertyListEntries.Fault) -> [String: PropertyListEntries.Entry] {
    var entries: [String: Entry] = [:]
    guard case .start("plist", false) = try tag() else { throw fault("does not begin with <plist>") }
    switch try tag() {
    case .start("dict", true): return [:]
    case .start("dict", false): break
    default: throw fault("has no dictionary at the top")
    }
    while true {
      switch try tag() {
      case .end("dict"):
        return entries
      case .start("key", false):
        let name = try text(until: "key")
        let entry = try value()
        if names.contains(name) { try PropertyListEntries.add(entry, name, to: &entries) }
      default:
        throw fault("has another element in place of a key")
      }
    }
  }

  private mutating func value() throws(Fault) -> Entry {
    switch try tag() {
    case .start("string", true): return .text("")
    case .start("string", false): return .text(try text(until: "string"))
    case .start("key", _): throw fault("has a key without a value")
    case .start(_, true): return .other
    case .start(_, false):
      try skipToEnd()
      return .other
    case .end: throw fault("has a key without a value")
    }
  }

  /// Skips the content of an element that was begun, and its end.
  private mutating func skipToEnd() throws(Fault) {
    var depth = 1
    while depth > 0 {
      switch try tag(skippingText: true) {
      case .start(_, true): break
      case .start(_, false): depth += 1
      case .end: depth -= 1
      }
    }
  }

  // MARK: - Tags

  /// The next tag, after white space, comments, processing instructions and the document type.
  private mutating func tag(skippingText: Bool = false) throws(Fault) -> Token {
    while true {
      if skippingText {
        position = bytes[position...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.endIndex
      } else {
        position = bytes[position...].firstIndex { !PropertyListEntries.isSpace($0) } ?? bytes.endIndex
      }
      guard position < bytes.endIndex else { throw fault("is cut off") }
      guard bytes[position] == UInt8(ascii: "<") else { throw fault("has text between its elements") }
      if try skipMarkup(skippingText: skippingText) { continue }
      return try element()
    }
  }

  /// Skips anything that is not an element. Returns whether there was any.
  private mutating func skipMarkup(skippingText: Bool) throws(Fault) -> Bool {
    if take("<!--") {
      try skip(past: "-->")
    } else if take("<?") {
      try skip(past: "?>")
    } else if skippingText, take("<![CDATA[") {
      try skip(past: "]]>")
    } else if take("<!DOCTYPE") {
      let declaration = bytes[position...].prefix { $0 != UInt8(ascii: ">") }
      guard !declaration.contains(UInt8(ascii: "[")) else { throw fault("declares entities of its own") }
      try skip(past: ">")
    } else {
      return false
    }
    return true
  }

  private mutating func element() throws(Fault) -> Token {
    let isEnd = take("</")
    if !isEnd { position += 1 }
    let name = bytes[position...].prefix { !PropertyListEntries.isSpace($0) && !"/><".utf8.contains($0) }
    guard (1...32).contains(name.count) else { throw fault("has an element without a name") }
    position = name.endIndex
    var quote: UInt8?
    while position < bytes.endIndex {
      let byte = bytes[position]
      position += 1
      if let open = quote {
        if byte == open { quote = nil }
      } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
        quote = byte
      } else if byte == UInt8(ascii: ">") {
        let name = String(decoding: name, as: UTF8.self)
        let isEmpty = bytes[position - 2] == UInt8(ascii: "/")
        return isEnd ? .end(name: name) : .start(name: name, isEmpty: isEmpty)
      }
    }
    throw fault("is cut off")
  }

  // MARK: - Text

  /// The text of an element that was begun, which has no other content; skips its end.
  private mutating func text(until name: String) throws(Fault) -> String {
    var text: [UInt8] = []
    while position < bytes.endIndex {
      guard text.count <= PropertyListEntries.maximumTextBytes else {
        throw PropertyListEntries.textTooLong("before byte \(position)")
      }
      if take("<![CDATA[") {
        let start = position
        try skip(past: "]]>")
        text += bytes[start..<(position - 3)]
      } else if take("<!--") {
        try skip(past: "-->")
      } else if bytes[position] == UInt8(ascii: "<") {
        guard case .end(name) = try element() else { throw fault("has an element inside of <\(name)>") }
        guard let text = String(validating: text, as: UTF8.self) else { throw fault("is not UTF-8 text") }
        return text
      } else if bytes[position] == UInt8(ascii: "&") {
        text += try entity().utf8
      } else {
        text.append(bytes[position])
        position += 1
      }
    }
    throw fault("is cut off")
  }

  private mutating func entity() throws(Fault) -> String {
    let rest = bytes[position...].dropFirst().prefix(16)
    guard let end = rest.firstIndex(of: UInt8(ascii: ";")) else { throw fault("has an \"&\" that begins no entity") }
    let name = String(decoding: rest[..<end], as: UTF8.self)
    guard let text = Self.predefined[name] ?? Self.character(name) else {
      throw fault("has the unknown entity \"&\(name);\"")
    }
    position = end + 1
    return text
  }

  private static let predefined = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'"]

  /// `#65` or `#x41`.
  private static func character(_ name: String) -> String? {
    guard name.hasPrefix("#") else { return nil }
    let number = name.hasPrefix("#x") ? UInt32(name.dropFirst(2), radix: 16) : UInt32(name.dropFirst())
    return number.flatMap(Unicode.Scalar.init).map { String($0) }
  }

  // MARK: - Bytes

  /// Skips `word` if it comes next.
  private mutating func take(_ word: String) -> Bool {
    guard bytes[position...].starts(with: word.utf8) else { return false }
    position += word.utf8.count
    return true
  }

  /// Skips everything up to and including `word`.
  private mutating func skip(past word: String) throws(Fault) {
    let last = word.utf8.last
    while let end = bytes[position...].firstIndex(where: { $0 == last }) {
      position = end + 1
      if bytes[..<position].suffix(word.utf8.count).elementsEqual(word.utf8) { return }
    }
    position = bytes.endIndex
    throw fault("is cut off")
  }

  private func fault(_ message: String) -> Fault {
    Fault(message: "\(message) (before byte \(position))")
  }
}
