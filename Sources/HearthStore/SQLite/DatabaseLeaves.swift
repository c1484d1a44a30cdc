/// Reads table rows directly from the pages of a file when SQLite can no longer reach them because an interior page is damaged
/// (https://www.sqlite.org/fileformat.html#b_tree_pages).
///
/// A page may be an unused one, so a row found here may be outdated: the caller must know from another source that the row exists. The
/// write-ahead log is not read.
package enum DatabaseLeaves {
  package enum Column: Equatable, Sendable {
    case null
    case integer(Int64)
    case blob([UInt8])
    case text([UInt8])
    case real
  }

  package struct Row: Sendable {
    package var number: Int64
    package var columns: [Column]
  }

  /// The rows with one of these numbers, of any table, in the order of their pages.
  package static func rows(in path: String, numbers: Set<Int64>) -> [Row] {
    guard let pages = DatabasePages(path: path) else { return [] }
    let rows = Rows(pages: pages)
    return (2...max(2, pages.count)).flatMap { page in
      pages.cells(of: page, .tableLeaf).compactMap { rows.row(in: page, at: $0, numbers: numbers) }
    }
  }

  /// The pages of tables without row numbers that have nothing but a text and an integer in each row: their rows.
  package static func numbersByText(in path: String) -> [[String: Int64]] {
    guard let pages = DatabasePages(path: path) else { return [] }
    let rows = Rows(pages: pages)
    return (2...max(2, pages.count)).compactMap { page in
      let cells = pages.cells(of: page, .indexLeaf)
      var numbers: [String: Int64] = [:]
      for cell in cells {
        guard let columns = rows.columns(in: page, at: cell), columns.count == 2, case .text(let bytes) = columns[0],
          let text = String(validating: bytes, as: UTF8.self), case .integer(let number) = columns[1]
        else { return nil }
        numbers[text] = number
      }
      return cells.isEmpty ? nil : numbers
    }
  }

  private struct Rows {
    let pages: DatabasePages

    /// The values of a short row without a number.
    func columns(in page: Int, at start: Int) -> [Column]? {
      var offset = start
      let next = { () -> UInt8? in
        defer { offset += 1 }
        return pages.byte(page, offset)
      }
      guard let length = Self.varint(next), length > 0, length < Self.largestShort else { return nil }
      let payload = (0..<Int(length)).compactMap { pages.byte(page, offset + $0) }
      return payload.count == length ? Self.columns(of: payload) : nil
    }

    /// Shorter rows have no overflow pages.
    private static let largestShort = 1024

    func row(in page: Int, at start: Int, numbers: Set<Int64>) -> Row? {
      var offset = start
      let next = { () -> UInt8? in
        defer { offset += 1 }
        return pages.byte(page, offset)
      }
      guard let length = Self.varint(next), let number = Self.varint(next), numbers.contains(number),
        length > 0, length <= pages.fileBytes, let payload = payload(page, offset, Int(length))
      else { return nil }
      return Self.columns(of: payload).map { Row(number: number, columns: $0) }
    }

    /// The bytes of a row, with those on overflow pages.
    private func payload(_ page: Int, _ offset: Int, _ length: Int) -> [UInt8]? {
      let largestLocal = DatabasePages.pageBytes - 35
      let smallestLocal = (DatabasePages.pageBytes - 12) * 32 / 255 - 23
      let rest = smallestLocal + (length - smallestLocal) % (DatabasePages.pageBytes - 4)
      let local = length <= largestLocal ? length : rest <= largestLocal ? rest : smallestLocal
      var payload: [UInt8] = []
      payload.reserveCapacity(length)
      for index in 0..<local {
        guard let byte = pages.byte(page, offset + index) else { return nil }
        payload.append(byte)
      }
      guard local < length else { return payload }
      var overflow = pages.integer(page, offset + local, bytes: 4) ?? 0
      // Every page adds something, so the loop ends even if pages form a cycle.
      while payload.count < length {
        guard overflow >= 2, overflow <= pages.count, let following = pages.integer(overflow, 0, bytes: 4) else {
          return nil
        }
        for index in 0..<min(DatabasePages.pageBytes - 4, length - payload.count) {
          guard let byte = pages.byte(overflow, 4 + index) else { return nil }
          payload.append(byte)
        }
        overflow = following
      }
      return payload
    }

    /// The values of a record (https://www.sqlite.org/fileformat.html#record_format).
    private static func columns(of payload: [UInt8]) -> [Column]? {
      var position = 0
      let next = { () -> UInt8? in
        defer { position += 1 }
        return position < payload.count ? payload[position] : nil
      }
      guard let headerBytes = varint(next), headerBytes <= payload.count else { return nil }
      var types: [Int64] = []
      while position < headerBytes {
        guard let type = varint(next), type >= 0 else { return nil }
        types.append(type)
      }
      var columns: [Column] = []
      for type in types {
        let bytes = size(of: type)
        guard bytes <= payload.count - position else { return nil }
        let content = payload[position..<position + bytes]
        position += bytes
        switch type {
        case 0: columns.append(.null)
        case 1...6:
          let negative = content.first.map { $0 & 0x80 != 0 } ?? false
          columns.append(.integer(content.reduce(negative ? -1 : 0) { $0 << 8 | Int64($1) }))
        case 8: columns.append(.integer(0))
        case 9: columns.append(.integer(1))
        case 12...: columns.append(type.isMultiple(of: 2) ? .blob(Array(content)) : .text(Array(content)))
        // A real number has eight bytes; 10 and 11 are never in a file.
        default: columns.append(.real)
        }
      }
      return columns
    }

    private static func size(of type: Int64) -> Int {
      switch type {
      case 1...4: Int(type)
      case 5: 6
      case 6, 7: 8
      case 12...: Int(clamping: (type - 12) / 2)
      default: 0
      }
    }

    private static func varint(_ next: () -> UInt8?) -> Int64? {
      var value: UInt64 = 0
      for index in 0..<9 {
        guard let byte = next() else { return nil }
        if index == 8 { return Int64(bitPattern: value << 8 | UInt64(byte)) }
        value = value << 7 | UInt64(byte & 0x7F)
        if byte & 0x80 == 0 { break }
      }
      return Int64(bitPattern: value)
    }
  }
}
