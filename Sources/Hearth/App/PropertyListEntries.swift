internal import Foundation

/// Reads chosen text entries of a property list's outermost dictionary, in the XML and in the binary form.
///
/// Foundation's own reader builds everything that a file holds: deep nesting ends the process, and a binary list of a few hundred bytes
/// whose containers refer to each other never ends. Here only the requested entries are built, so time and memory are bounded by the size
/// of the file.
enum PropertyListEntries {
  enum Entry: Equatable {
    case text(String)
    /// The entry is not a string.
    case other
  }

  /// An error in a list; its text follows "the property list ".
  struct Fault: Error, Equatable {
    let message: String
  }

  /// Longer texts are no entries of a configuration.
  static let maximumTextBytes = 4096

  /// Returns whether the content is a property list rather than anything else, by its first bytes.
  static func isPropertyList(_ content: Data) -> Bool {
    let start = content.prefix(64).drop { isSpace($0) || byteOrderMark.contains($0) }
    return content.starts(with: BinaryPropertyList.signature) || start.first == UInt8(ascii: "<")
  }

  /// - Parameter names: The keys whose entries are wanted.
  static func read(_ names: Set<String>, from content: Data) throws(Fault) -> [String: Entry] {
    let bytes = [UInt8](content)
    if bytes.starts(with: BinaryPropertyList.signature) {
      return try BinaryPropertyList(bytes).entries(names)
    }
    var list = XMLPropertyList(bytes.starts(with: byteOrderMark) ? Array(bytes.dropFirst(3)) : bytes)
    return try list.entries(names)
  }

  private static let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]

  static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }

  static func add(_ entry: Entry, _ name: String, to entries: inout [String: Entry]) throws(Fault) {
    guard entries.updateValue(entry, forKey: name) == nil else {
      throw Fault(message: "has the key \"\(name)\" twice")
    }
  }

  static func textTooLong(_ place: String) -> Fault {
    Fault(message: "has \(place) a text of more than \(maximumTextBytes) bytes")
  }
}

/// The binary form: objects by offset, found through a table at the end (the layout is described in Apple's open-source
/// `CFBinaryPList.c`).
struct BinaryPropertyList {
  static let signature = Array("bplist".utf8)
  private static let trailerBytes = 32

  private typealias Fault = PropertyListEntries.Fault
  private typealias Entry = PropertyListEntries.Entry

  private let bytes: [UInt8]

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// The places of the objects.
  private struct Table {
    var start: Int
    var offsetBytes: Int
    var referenceBytes: Int
    var count: Int
    var top: Int
  }

  func entries(_ names: Set<String>) throws(PropertyListEntries.Fault) -> [String: PropertyListEntries.Entry] {
    let table = try table()
    let top = try offset(of: table.top, table)
    guard bytes[top] >> 4 == 0xd else { throw Fault(message: "has no dictionary at the top") }
    let (count, start) = try count(at: top, table)
    let (bytesOfKeys, overflows) = count.multipliedReportingOverflow(by: 2 * table.referenceBytes)
    guard !overflows, bytesOfKeys <= table.start - start else {
      throw Fault(message: "is too short for its dictionary of \(count) entries at byte \(top)")
    }
    var entries: [String: Entry] = [:]
    for index in 0..<count {
      let keyPlace = start + index * table.referenceBytes
      let key = try offset(of: integer(at: keyPlace, byteCount: table.referenceBytes), table)
      guard case .text(let name) = try entry(at: key, table, limit: 128), names.contains(name) else { continue }
      let valuePlace = keyPlace + count * table.referenceBytes
      let value = try offset(of: integer(at: valuePlace, byteCount: table.referenceBytes), table)
      let entry = try entry(at: value, table, limit: nil)
      try PropertyListEntries.add(entry, name, to: &entries)
    }
    return entries
  }

  private func table() throws(Fault) -> Table {
    let trailer = bytes.count - Self.trailerBytes
    guard trailer >= 8 else { throw Fault(message: "is cut off") }
    let table = Table(
      start: try integer(at: trailer + 24, byteCount: 8), offsetBytes: Int(bytes[trailer + 6]),
      referenceBytes: Int(bytes[trailer + 7]), count: try integer(at: trailer + 8, byteCount: 8),
      top: try integer(at: trailer + 16, byteCount: 8))
    guard (1...8).contains(table.offsetBytes), (1...8).contains(table.referenceBytes), table.start >= 8 else {
      throw Fault(message: "has an invalid trailer")
    }
    let (size, overflows) = table.count.multipliedReportingOverflow(by: table.offsetBytes)
    guard !overflows, table.start <= trailer, size <= trailer - table.start else {
      throw Fault(message: "is too short for the \(table.count) objects that it declares")
    }
    return table
  }

  /// The place where an object begins: always inside the objects' part.
  private func offset(of object: Int, _ table: Table) throws(Fault) -> Int {
    guard object < table.count else {
      throw Fault(message: "refers to object \(object) of \(table.count)")
    }
    let offset = try integer(at: table.start + object * table.offsetBytes, byteCount: table.offsetBytes)
    guard (8..<table.start).contains(offset) else {
      throw Fault(message: "has object \(object) at byte \(offset), outside of its objects")
    }
    return offset
  }

  /// The object there. Texts of more than `limit` bytes count as not being strings; without a limit they are an error.
  private func entry(at offset: Int, _ table: Table, limit: Int?) throws(Fault) -> Entry {
    let kind = bytes[offset] >> 4
    guard kind == 0x5 || kind == 0x6 else { return .other }
    let (count, start) = try count(at: offset, table)
    let (size, overflows) = count.multipliedReportingOverflow(by: kind == 0x6 ? 2 : 1)
    guard !overflows, size <= table.start - start else {
      throw Fault(message: "is too short for its text of \(count) characters at byte \(offset)")
    }
    if let limit, size > limit { return .other }
    guard size <= PropertyListEntries.maximumTextBytes else {
      throw PropertyListEntries.textTooLong("at byte \(offset)")
    }
    let content = bytes[start..<(start + size)]
    if kind == 0x5 { return .text(String(decoding: content, as: UTF8.self)) }
    let units = stride(from: content.startIndex, to: content.endIndex, by: 2).map {
      UInt16(content[$0]) << 8 | UInt16(content[$0 + 1])
    }
    return .text(String(decoding: units, as: UTF16.self))
  }

  /// The count of a container or text, and where its content begins. Counts above 14 are an integer object of their own.
  private func count(at offset: Int, _ table: Table) throws(Fault) -> (Int, start: Int) {
    let low = bytes[offset] & 0xf
    guard low == 0xf else { return (Int(low), offset + 1) }
    let marker = offset + 1
    guard marker < table.start, bytes[marker] >> 4 == 0x1, bytes[marker] & 0xf <= 3 else {
      throw Fault(message: "has an object without a count at byte \(offset)")
    }
    let size = 1 << Int(bytes[marker] & 0xf)
    guard size <= table.start - marker - 1 else { throw Fault(message: "is cut off") }
    return (try integer(at: marker + 1, byteCount: size), marker + 1 + size)
  }

  /// A big-endian integer that is not negative. The bytes must be there.
  private func integer(at offset: Int, byteCount: Int) throws(Fault) -> Int {
    let value = bytes[offset..<(offset + byteCount)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    guard let value = Int(exactly: value) else {
      throw Fault(message: "has a number out of range at byte \(offset)")
    }
    return value
  }
}
