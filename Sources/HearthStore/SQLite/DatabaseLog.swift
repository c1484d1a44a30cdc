internal import Foundation

/// A damaged write-ahead log, read without SQLite (https://www.sqlite.org/fileformat.html#the_write_ahead_log).
///
/// SQLite uses a log up to the first frame whose checksum does not fit, and says nothing about what lies behind. That is right where a process
/// was killed while it wrote, or the power failed: then at most the commit that was being written ends behind, which nobody was told of. Where a
/// frame was damaged, several commits may. Each frame stores the checksum of everything before it, so that the frames behind a damaged one can be
/// verified again, and told from those of an earlier use of the file.
package struct DatabaseLog: Sendable {
  private let database: String
  /// The first damaged frame, counted from 1; 0 for the header.
  private let damagedFrame: Int
  /// The places of the newest sound pages in the log, up to its last commit and up to the one before.
  private let pages: [Int: UInt64]
  private let pagesBeforeLastCommit: [Int: UInt64]
  /// False if what lies behind may be what was left of a single commit that was never finished.
  package let isDamage: Bool
  /// True if something of what lies behind is in the file already, so that SQLite puts older pages over newer ones.
  package let isInFile: Bool

  /// The damage, for a message.
  package var reason: String {
    let place = damagedFrame == 0 ? "the header" : "frame \(damagedFrame)"
    return "\(place) of the write-ahead log \"\(Self.path(of: database))\" is damaged, and commits lie behind it"
  }

  /// Looks for damage in the log of a database. Another process may be writing it.
  ///
  /// - Returns: Nil for a log that is missing, or in which no sound commit lies behind the first frame that is not.
  package init?(damagedIn database: String) {
    // A frame that was being written when it was read is sound the second time.
    guard let found = Self.read(database), found.damagedFrame == Self.read(database)?.damagedFrame else { return nil }
    self = found
  }

  private init(database: String, _ scan: Scan, damagedFrame: Int) {
    self.database = database
    self.damagedFrame = damagedFrame
    pages = scan.pages
    pagesBeforeLastCommit = scan.pagesBeforeLastCommit
    isInFile = scan.isInFile(of: database)
    // The header is on the disk before any frame, and the whole log before any page is moved into the file. The first commit behind another
    // frame may end the transaction of that one.
    isDamage = isInFile || scan.commitsBehind > (damagedFrame == 0 || scan.isDamagedCommit ? 0 : 1)
  }

  /// The state of a walk through the frames.
  private struct Scan {
    var damagedFrame: Int?
    var isDamagedCommit = false
    var commitsBehind = 0
    var pages: [Int: UInt64] = [:]
    var pagesBeforeLastCommit: [Int: UInt64] = [:]
    private var uncommitted: [Int: UInt64] = [:]
    /// The places of the pages that SQLite reads from the log, and of the versions of these pages that lie behind the damage.
    private var visible: [Int: UInt64] = [:]
    private var hidden: [Int: [UInt64]] = [:]

    mutating func note(_ frame: Frame, _ number: Int, isSound: Bool) {
      guard isSound else {
        // Or the log ends here: then only frames of an earlier use lie behind.
        if damagedFrame == nil { (damagedFrame, isDamagedCommit, visible) = (number, frame.isCommit, pages) }
        return
      }
      uncommitted[frame.page] = Header.place(ofPageIn: number)
      if visible[frame.page] != nil { hidden[frame.page, default: []].append(Header.place(ofPageIn: number)) }
      guard frame.isCommit else { return }
      pagesBeforeLastCommit = pages
      pages.merge(uncommitted) { _, new in new }
      uncommitted = [:]
      if damagedFrame != nil { commitsBehind += 1 }
    }

    /// Returns true if a page that SQLite reads from the log is newer in the file.
    func isInFile(of database: String) -> Bool {
      guard !hidden.isEmpty, let file = FileHandle(forReadingAtPath: database) else { return false }
      defer { try? file.close() }
      guard let log = FileHandle(forReadingAtPath: DatabaseLog.path(of: database)) else { return false }
      defer { try? log.close() }
      func page(_ handle: FileHandle, at place: UInt64) -> Data? {
        try? handle.seek(toOffset: place)
        return try? handle.read(upToCount: DatabasePages.pageBytes)
      }
      return hidden.contains { number, versions in
        guard let stored = page(file, at: DatabasePages.offset(of: number)), let shown = visible[number],
          page(log, at: shown) != stored
        else { return false }
        return versions.contains { page(log, at: $0) == stored }
      }
    }
  }

  private static func path(of database: String) -> String { database + "-wal" }

  // MARK: - Reading

  private static func read(_ database: String) -> DatabaseLog? {
    guard let file = FileHandle(forReadingAtPath: path(of: database)) else { return nil }
    defer { try? file.close() }
    guard let bytes = try? file.read(upToCount: Header.bytes), let header = Header(Array(bytes)) else { return nil }
    // A damaged header may be wrong about the order of bytes, too.
    for isBigEndian in header.isSound ? [header.isBigEndian] : [false, true] {
      let scan = scan(file, header, isBigEndian: isBigEndian)
      guard let damagedFrame = scan.damagedFrame, scan.commitsBehind > 0 else { continue }
      return DatabaseLog(database: database, scan, damagedFrame: damagedFrame)
    }
    return nil
  }

  private static func scan(_ file: FileHandle, _ header: Header, isBigEndian: Bool) -> Scan {
    var header = header
    header.isBigEndian = isBigEndian
    var scan = Scan()
    if !header.isSound { scan.damagedFrame = 0 }
    var number = 0
    try? file.seek(toOffset: UInt64(Header.bytes))
    while let bytes = try? file.read(upToCount: Frame.bytes), bytes.count == Frame.bytes {
      number += 1
      let frame = Frame(Array(bytes))
      if number == 1, !header.isSound { header.mend(before: frame) }
      let isOfThisUse = frame.salts == header.salts
      let isSound = isOfThisUse && frame.isSound(behind: header)
      header.checksum = frame.checksum
      scan.note(frame, number, isSound: isSound)
    }
    return scan
  }

  /// The header of the file, with the checksum that the next frame goes on from.
  private struct Header {
    static let bytes = 32
    /// The lowest bit says whether the checksums are of numbers with their highest byte first.
    private static let magic: UInt32 = 0x377f_0682

    var salts: [UInt8]
    var checksum: Checksum
    var isBigEndian: Bool
    let isSound: Bool
    /// What the checksum is of.
    private let content: [UInt8]

    /// - Returns: Nil for a log of pages of another size.
    init?(_ bytes: [UInt8]) {
      guard bytes.count == Self.bytes else { return nil }
      let magic = Checksum.number(bytes[0..<4])
      isBigEndian = magic == Self.magic | 1
      salts = Array(bytes[16..<24])
      checksum = Checksum(bytes[24..<32])
      content = Array(bytes[0..<24])
      isSound = magic & ~1 == Self.magic && Checksum(of: content, isBigEndian: isBigEndian) == checksum
      guard !isSound || Checksum.number(bytes[8..<12]) == DatabasePages.pageBytes else { return nil }
    }

    /// Takes over what the first frame shows of a damaged header.
    mutating func mend(before frame: Frame) {
      salts = frame.salts
      if !frame.isSound(behind: self) { checksum = Checksum(of: content, isBigEndian: isBigEndian) }
    }

    static func place(ofPageIn frame: Int) -> UInt64 { UInt64(bytes + (frame - 1) * Frame.bytes + Frame.headerBytes) }
  }

  private struct Frame {
    static let headerBytes = 24
    static let bytes = headerBytes + DatabasePages.pageBytes

    private let content: [UInt8]

    init(_ content: [UInt8]) { self.content = content }

    var page: Int { Int(Checksum.number(content[0..<4])) }
    var isCommit: Bool { Checksum.number(content[4..<8]) != 0 }
    var salts: [UInt8] { Array(content[8..<16]) }
    var checksum: Checksum { Checksum(content[16..<24]) }

    func isSound(behind header: Header) -> Bool {
      var expected = header.checksum
      expected.add(content[0..<8], isBigEndian: header.isBigEndian)
      expected.add(content[Self.headerBytes...], isBigEndian: header.isBigEndian)
      return page > 0 && expected == checksum
    }
  }

  /// The running checksum of a log (https://www.sqlite.org/fileformat.html#checksum_algorithm).
  private struct Checksum: Equatable {
    private var first: UInt32 = 0
    private var second: UInt32 = 0

    init(of bytes: [UInt8], isBigEndian: Bool) {
      add(bytes[...], isBigEndian: isBigEndian)
    }

    init(_ bytes: ArraySlice<UInt8>) {
      first = Self.number(bytes.prefix(4))
      second = Self.number(bytes.dropFirst(4))
    }

    mutating func add(_ bytes: ArraySlice<UInt8>, isBigEndian: Bool) {
      bytes.withUnsafeBytes { bytes in
        for place in stride(from: 0, to: bytes.count, by: 8) {
          let words = (
            bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self),
            bytes.loadUnaligned(fromByteOffset: place + 4, as: UInt32.self)
          )
          first &+= (isBigEndian ? UInt32(bigEndian: words.0) : UInt32(littleEndian: words.0)) &+ second
          second &+= (isBigEndian ? UInt32(bigEndian: words.1) : UInt32(littleEndian: words.1)) &+ first
        }
      }
    }

    /// Four bytes, the highest first.
    static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }
  }

  // MARK: - Copying

  /// Copies the database with the sound pages of the log in their places. The copy has no log; pages that only the damaged frames held are
  /// older in it than the others.
  ///
  /// - Parameter includesUnfinished: False to leave out the last commit if it may never have been finished.
  /// - Throws: ``StoreError`` `io`.
  package func copyDatabase(to copy: String, includesUnfinished: Bool = true) throws(StoreError) {
    // A header that is damaged was sound: it is on the disk before any frame.
    let pages = includesUnfinished || damagedFrame == 0 ? pages : pagesBeforeLastCommit
    do {
      try FileManager.default.copyItem(atPath: database, toPath: copy)
      let log = try FileHandle(forReadingFrom: URL(fileURLWithPath: Self.path(of: database)))
      defer { try? log.close() }
      let file = try FileHandle(forUpdating: URL(fileURLWithPath: copy))
      defer { try? file.close() }
      for (page, place) in pages.sorted(by: { $0.key < $1.key }) {
        try log.seek(toOffset: place)
        try file.seek(toOffset: DatabasePages.offset(of: page))
        try file.write(contentsOf: try log.read(upToCount: DatabasePages.pageBytes) ?? Data())
      }
      // The counter for which the length in the first page is right, which may be older than the others: not this one.
      try file.seek(toOffset: 92)
      try file.write(contentsOf: Data(repeating: 0xFF, count: 4))
    } catch {
      throw StoreError(kind: .io, message: "Cannot copy \"\(database)\" (\(error.localizedDescription)).")
    }
  }
}
