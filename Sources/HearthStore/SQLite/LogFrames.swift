internal import Foundation

/// The frames of a write-ahead log since its last restart, including frames after damage
/// (https://www.sqlite.org/fileformat.html#the_write_ahead_log).
///
/// Each frame stores the checksum of everything before it. So the frames after a damaged one can be verified again, and distinguished from
/// frames of an earlier use of the file. A frame that does not fit can still be identified in these cases:
///
/// 1. Its salts are damaged, and the checksum goes on from the frame before.
/// 2. Its own checksum is damaged, and the next frame goes on from what it should be.
/// 3. Its page is damaged and the checksum fits the page of the database: then a checkpoint has copied the frame.
/// 4. Its page number or its length is damaged. The checksum, reversed through the page, gives the original number, and the database has
///    the page under that number. The checksum alone is no proof: some damaged bits of the page change it in the same way as a bit of the
///    number.
/// 5. It has the page that the database has.
struct LogFrames {
  struct Frame {
    enum Content {
      /// The log has the page.
      case sound
      /// The log has it no more, and the database has it.
      case moved
      case unknown
    }

    /// Counted from 1.
    let number: Int
    var page: Int
    /// The length of the database in pages at the end of a commit; 0 for another frame.
    var length: Int
    var content: Content
    /// False if the length may be damaged.
    var hasLength = true
    /// False if the page number of a frame whose content is not known may be damaged, too.
    var hasPageNumber = true
    /// The page number of a frame whose content is not known if not the page is damaged, but the number.
    var otherPage: Int?
    /// False if the frame before has no sound checksum, so that a page could not be compared with this one's.
    var isVerifiable = true

    var isKnown: Bool { content != .unknown }
    var isCommit: Bool { length != 0 }
    /// The page numbers that the frame may have; none if nothing is known of it.
    var candidates: [Int] { isKnown || hasPageNumber ? [page] + (otherPage.map { [$0] } ?? []) : [] }
    /// The place of the page in the log.
    var place: UInt64 { UInt64(Header.bytes + (number - 1) * StoredFrame.bytes + StoredFrame.headerBytes) }
  }

  private(set) var frames: [Frame] = []
  /// The first frame that SQLite does not take for one of this use, from 1; 0 for the header. Behind the last of the frames if none is damaged.
  private(set) var firstUnfit = 0
  private var verifiedCount = 0

  /// Reads the log of a database.
  ///
  /// - Returns: Nil if there is none, or it has pages of another size.
  init?(of database: String) {
    guard let file = FileHandle(forReadingAtPath: DatabaseLog.path(of: database)) else { return nil }
    defer { try? file.close() }
    guard let bytes = try? file.read(upToCount: Header.bytes), let header = Header(Array(bytes)) else { return nil }
    if header.isSound {
      self.init(file, header, database)
    } else {
      // A damaged header may be wrong about the order of bytes, too.
      let both = [false, true].map { Self(file, header.mended(file, isBigEndian: $0), database) }
      self = both[0].verifiedCount >= both[1].verifiedCount ? both[0] : both[1]
    }
  }

  private init(_ file: FileHandle, _ header: Header, _ database: String) {
    var reader = Reader(database: database, header: header)
    firstUnfit = header.isSound ? Int.max : 0
    try? file.seek(toOffset: UInt64(Header.bytes))
    while let bytes = try? file.read(upToCount: StoredFrame.bytes), bytes.count == StoredFrame.bytes {
      let stored = StoredFrame(Array(bytes))
      let isFit = reader.read(stored, into: &frames)
      if isFit { verifiedCount += 1 }
      if !isFit, firstUnfit == .max { firstUnfit = frames.count }
    }
    // Frames of an earlier use.
    while let last = frames.last, !last.isKnown, !last.hasPageNumber { frames.removeLast() }
    if firstUnfit == .max { firstUnfit = frames.count + 1 }
    dropImpossiblePages(database)
  }

  /// Verifies one frame after the other.
  private struct Reader {
    private let header: Header
    /// The checksum that the next frame goes on from.
    private var checksum: LogChecksum
    /// The checksum that the frame before should store, if that one does not fit.
    private var computed: LogChecksum?
    /// True if the frame before is one of this use.
    private var isConnected = true
    private let database: String
    private var pages: DatabasePages?

    init(database: String, header: Header) {
      self.database = database
      self.header = header
      checksum = header.checksum
    }

    /// - Returns: True if SQLite takes the frame for the next one.
    mutating func read(_ stored: StoredFrame, into frames: inout [Frame]) -> Bool {
      let isOfThisUse = stored.salts == header.salts
      var frame = Frame(number: frames.count + 1, page: stored.page, length: stored.length, content: .unknown)
      frame.isVerifiable = frames.last?.isKnown ?? header.isSound
      defer {
        isConnected = frame.isKnown || isOfThisUse
        checksum = stored.checksum
        frames.append(frame)
      }
      guard isOfThisUse || isConnected else {
        frame.hasPageNumber = false
        computed = nil
        return false
      }
      let expected = stored.checksum(behind: checksum, header)
      if expected == stored.checksum, stored.page > 0 {
        (frame.content, computed) = (.sound, nil)
        return isOfThisUse
      }
      guard isOfThisUse else {
        frame.hasPageNumber = false
        computed = nil
        return false
      }
      let former = computed
      computed = expected
      if let former, stored.page > 0, let last = frames.last, last.page > 0,
        stored.checksum(behind: former, header) == stored.checksum
      {
        (frame.content, computed) = (.sound, nil)
        frames[last.number - 1] = Frame(number: last.number, page: last.page, length: last.length, content: .sound)
      } else {
        compareWithDatabase(stored, &frame)
      }
      return false
    }

    private mutating func compareWithDatabase(_ stored: StoredFrame, _ frame: inout Frame) {
      if pages == nil { pages = DatabasePages(path: database) }
      let derived = stored.number(behind: checksum, header)
      if let derived, isInDatabase(stored, derived.page) {
        (frame.page, frame.content) = (derived.page, .sound)
        takeLength(of: [derived.length, stored.length], &frame)
        return
      }
      if let page = databasePage(stored.page),
        stored.checksum(behind: checksum, header, page: page[...]) == stored.checksum
      {
        frame.content = .moved
      } else if isInDatabase(stored, stored.page) {
        frame.content = .sound
        takeLength(of: [stored.length], &frame)
      } else if let derived, derived.page != stored.page {
        frame.otherPage = derived.page
      }
    }

    /// The checksum does not tell damage of a length from damage of the checksum itself. After a checkpoint, the database is as long as it should be.
    private func takeLength(of lengths: [Int], _ frame: inout Frame) {
      frame.hasLength = lengths.contains(pages?.count ?? 0)
      frame.length = frame.hasLength ? pages?.count ?? 0 : lengths[0]
    }

    private func isInDatabase(_ stored: StoredFrame, _ page: Int) -> Bool {
      databasePage(page).map { $0[...] == stored.content } ?? false
    }

    /// Nil if the database does not have the page.
    private func databasePage(_ page: Int) -> [UInt8]? {
      guard page > 0, let bytes = pages?.bytes(of: page), bytes.count == DatabasePages.pageBytes else { return nil }
      return bytes
    }
  }

  /// Drops numbers of pages that no frame can have.
  private mutating func dropImpossiblePages(_ database: String) {
    let known = frames.filter(\.isKnown)
    guard known.count < frames.count else { return }
    let count = known.reduce(DatabasePages(path: database)?.count ?? 0) { count, frame in
      max(count, frame.page, frame.hasLength ? frame.length : 0)
    }
    for index in frames.indices where !frames[index].isKnown {
      let possible = frames[index].candidates.filter { 1...max(count, 1) ~= $0 }
      frames[index].hasPageNumber = !possible.isEmpty
      frames[index].page = possible.first ?? frames[index].page
      frames[index].otherPage = possible.dropFirst().first
    }
  }
}

// MARK: - Bytes of the file

extension LogFrames {
  /// The header of the file, with the checksum from which the first frame continues.
  private struct Header {
    static let bytes = 32
    /// The lowest bit says whether the checksums are of numbers with their highest byte first.
    private static let magic: UInt32 = 0x377f_0682

    var salts: [UInt8]
    var checksum: LogChecksum
    var isBigEndian: Bool
    let isSound: Bool
    /// The bytes that the checksum covers.
    private let content: [UInt8]

    /// - Returns: Nil for a log of pages of another size.
    init?(_ bytes: [UInt8]) {
      guard bytes.count == Self.bytes else { return nil }
      let magic = LogChecksum.number(bytes[0..<4])
      isBigEndian = magic == Self.magic | 1
      salts = Array(bytes[16..<24])
      checksum = LogChecksum(bytes[24..<32])
      content = Array(bytes[0..<24])
      isSound = magic & ~1 == Self.magic && LogChecksum(of: content, isBigEndian: isBigEndian) == checksum
      guard !isSound || LogChecksum.number(bytes[8..<12]) == DatabasePages.pageBytes else { return nil }
    }

    /// Takes over what the first frames of the file show of a damaged header.
    func mended(_ file: FileHandle, isBigEndian: Bool) -> Header {
      var header = self
      header.isBigEndian = isBigEndian
      try? file.seek(toOffset: UInt64(Self.bytes))
      let bytes = (try? file.read(upToCount: 3 * StoredFrame.bytes)).flatMap { $0 }.map(Array.init) ?? []
      let frames = stride(from: 0, to: bytes.count - StoredFrame.bytes + 1, by: StoredFrame.bytes).map {
        StoredFrame(Array(bytes[$0..<$0 + StoredFrame.bytes]))
      }
      guard let first = frames.first else { return header }
      header.salts = first.salts
      if first.checksum(behind: checksum, header) == first.checksum { return header }
      header.checksum = LogChecksum(of: content, isBigEndian: isBigEndian)
      if first.checksum(behind: header.checksum, header) == first.checksum { return header }
      // The damage reaches into the first frame.
      if frames.count == 3, frames[1].salts == frames[2].salts { header.salts = frames[1].salts }
      return header
    }
  }

  private struct StoredFrame {
    static let headerBytes = 24
    static let bytes = headerBytes + DatabasePages.pageBytes

    private let all: [UInt8]

    init(_ all: [UInt8]) { self.all = all }

    var page: Int { Int(LogChecksum.number(all[0..<4])) }
    var length: Int { Int(LogChecksum.number(all[4..<8])) }
    var salts: [UInt8] { Array(all[8..<16]) }
    var checksum: LogChecksum { LogChecksum(all[16..<24]) }
    var content: ArraySlice<UInt8> { all[Self.headerBytes...] }

    /// The checksum of this frame, with another page if one is given.
    func checksum(behind former: LogChecksum, _ header: Header, page: ArraySlice<UInt8>? = nil) -> LogChecksum {
      var checksum = former
      checksum.add(all[0..<8], isBigEndian: header.isBigEndian)
      checksum.add(page ?? content, isBigEndian: header.isBigEndian)
      return checksum
    }

    /// Returns the page number and the length with which the checksum fits, if one of them is what stands there.
    func number(behind former: LogChecksum, _ header: Header) -> (page: Int, length: Int)? {
      var next = checksum
      next.remove(content, isBigEndian: header.isBigEndian)
      let bytes = former.bytes(to: next, isBigEndian: header.isBigEndian)
      let (page, length) = (Int(LogChecksum.number(bytes[0..<4])), Int(LogChecksum.number(bytes[4..<8])))
      guard page == self.page || length == self.length, page > 0 else { return nil }
      return (page, length)
    }
  }
}
