internal import HearthModel
internal import NIOCore

/// Writes messages that carry one document each into a buffer, with their heads. The document's fields are copied once, from where they
/// were read, and nothing else is allocated for a message.
///
/// In all responses of the protocol that carry a document, it is field 1 of the message, or of a message in one of its fields.
struct DocumentFrames {
  /// The name of the root of all documents, with a slash at its end.
  private let root: [UInt8]
  /// The tag of the field whose message holds the document; nil if the response itself holds it.
  private let wrapper: UInt8?
  /// The fields other than the document, encoded.
  private let others: [UInt8]

  private enum Tag {
    /// The document's tag in its message, and the name's tag in a document.
    static let first: UInt8 = 0x0A
    static let createTime: UInt8 = 0x1A
    static let updateTime: UInt8 = 0x22
  }

  /// - Parameters:
  ///   - wrapper: The number of the field whose message holds the document, below 16; nil if the response itself holds it.
  ///   - others: The fields other than the document, encoded.
  init(of database: DatabaseID, wrapper: Int?, others: [UInt8]) {
    root = Array("\(database.documentsName)/".utf8)
    self.wrapper = wrapper.map { UInt8($0 << 3 | 2) }
    self.others = others
  }

  /// Adds a message with a document, which exists.
  func write(_ document: Document, to buffer: inout ByteBuffer) {
    let createTime = EncodedTime(document.createTime)
    let updateTime = EncodedTime(document.version)
    let path = document.key.path.canonicalString
    let nameCount = root.count + path.utf8.count
    let documentCount =
      Self.fieldCount(nameCount) + document.fields.bytes.count + createTime.fieldCount + updateTime.fieldCount
    let bodyCount = Self.fieldCount(documentCount) + others.count
    let messageCount = wrapper == nil ? bodyCount : Self.fieldCount(bodyCount)
    buffer.writeMultipleIntegers(UInt8(0), UInt32(messageCount))
    buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: messageCount) { target in
      var output = RawOutput(target: target)
      if let wrapper { output.begin(wrapper, count: bodyCount) }
      output.begin(Tag.first, count: documentCount)
      output.begin(Tag.first, count: nameCount)
      output.add(root)
      output.add(path)
      output.add(document.fields.bytes)
      output.add(createTime, Tag.createTime)
      output.add(updateTime, Tag.updateTime)
      output.add(others)
      assert(output.count == messageCount, "a message of \(messageCount) bytes has \(output.count)")
      return output.count
    }
  }

  /// The size of a field with so many bytes, whose number is below 16.
  private static func fieldCount(_ contentCount: Int) -> Int {
    1 + RawOutput.varintCount(UInt64(contentCount)) + contentCount
  }

  /// A `google.protobuf.Timestamp`, or nothing.
  private struct EncodedTime {
    let seconds: UInt64
    let nanoseconds: UInt64
    let isThere: Bool

    init(_ version: SnapshotVersion) {
      isThere = version != .none
      let time = version.timestamp
      seconds = UInt64(bitPattern: time.seconds)
      nanoseconds = UInt64(truncatingIfNeeded: time.nanoseconds)
    }

    /// At most 11 bytes for each of the two, so the length of both takes one byte.
    var contentCount: Int {
      (seconds == 0 ? 0 : 1 + RawOutput.varintCount(seconds))
        + (nanoseconds == 0 ? 0 : 1 + RawOutput.varintCount(nanoseconds))
    }

    var fieldCount: Int { isThere ? 2 + contentCount : 0 }
  }

  /// Fills memory from its start on.
  private struct RawOutput {
    let target: UnsafeMutableRawBufferPointer
    private(set) var count = 0

    init(target: UnsafeMutableRawBufferPointer) {
      self.target = target
    }

    static func varintCount(_ value: UInt64) -> Int {
      value == 0 ? 1 : (70 - value.leadingZeroBitCount) / 7
    }

    mutating func add(_ byte: UInt8) {
      target[count] = byte
      count += 1
    }

    mutating func add(varint value: UInt64) {
      var rest = value
      while rest >= 0x80 {
        add(UInt8(truncatingIfNeeded: rest) | 0x80)
        rest >>= 7
      }
      add(UInt8(truncatingIfNeeded: rest))
    }

    mutating func begin(_ tag: UInt8, count: Int) {
      add(tag)
      add(varint: UInt64(count))
    }

    mutating func add(_ bytes: [UInt8]) {
      bytes.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: target[count...]).copyMemory(from: $0) }
      count += bytes.count
    }

    mutating func add(_ text: String) {
      var text = text
      count += text.withUTF8 { source in
        UnsafeMutableRawBufferPointer(rebasing: target[count...]).copyMemory(from: UnsafeRawBufferPointer(source))
        return source.count
      }
    }

    mutating func add(_ time: EncodedTime, _ tag: UInt8) {
      guard time.isThere else { return }
      begin(tag, count: time.contentCount)
      if time.seconds != 0 {
        add(0x08)
        add(varint: time.seconds)
      }
      if time.nanoseconds != 0 {
        add(0x10)
        add(varint: time.nanoseconds)
      }
    }
  }
}
