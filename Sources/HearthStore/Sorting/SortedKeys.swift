package import HearthModel

/// The keys of a result's documents in its order, without the documents. Taken keys release their memory.
package struct SortedKeys: Sendable {
  /// Names one after the other, each preceded by its length in four bytes.
  private final class Chunk: Sendable {
    let bytes: [UInt8]
    private let reservation: SortReservation

    init(_ bytes: [UInt8], _ reservation: SortReservation) {
      self.bytes = bytes
      self.reservation = reservation
    }
  }

  /// The collection of all documents, which then are named by their ids; nil if they are named by their paths.
  private let collection: ResourcePath?
  /// The next one last, so that one that is used up can go.
  private var chunks: [Chunk]
  /// The offset of the next name in its chunk.
  private var offset = 0
  /// The number of keys that are left.
  package private(set) var count: Int

  package var isEmpty: Bool { count == 0 }

  private static let lengthBytes = 4

  /// The memory that a name takes in the list.
  static func chargedBytes(ofName count: Int) -> Int { lengthBytes + count }

  package mutating func popFirst() throws -> DocumentKey? {
    guard let bytes = chunks.last?.bytes else { return nil }
    let length = bytes[offset..<offset + Self.lengthBytes].reduce(0) { $0 << 8 | Int($1) }
    let start = offset + Self.lengthBytes
    let name = String(decoding: bytes[start..<start + length], as: UTF8.self)
    offset = start + length
    if offset == bytes.count {
      chunks.removeLast()
      offset = 0
    }
    count -= 1
    return try DocumentKey(collection?.appending(name) ?? ResourcePath(canonical: name))
  }

  /// Puts names into chunks, in the order in which they are appended.
  struct Builder {
    private let collection: ResourcePath?
    private let share: SortShare
    private var chunks: [Chunk] = []
    private var bytes: [UInt8] = []
    private var count = 0

    /// The size of a chunk. Memory of a list is given back chunk by chunk.
    private static let chunkBytes = 32 << 10

    /// - Parameter share: Has the memory for all names.
    init(of scope: CollectionScope, share: SortShare) {
      collection = if case .collection(let path) = scope { path } else { nil }
      self.share = share
    }

    mutating func append(_ name: ArraySlice<UInt8>) {
      for shift in stride(from: 24, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: name.count >> shift)) }
      bytes += name
      count += 1
      if bytes.count >= Self.chunkBytes { endChunk() }
    }

    private mutating func endChunk() {
      guard !bytes.isEmpty else { return }
      // A copy of the right size, because the array has grown to more.
      chunks.append(Chunk(Array(bytes[...]), share.split(bytes.count)))
      bytes.removeAll(keepingCapacity: true)
    }

    mutating func finish() -> SortedKeys {
      endChunk()
      return SortedKeys(collection: collection, chunks: chunks.reversed(), count: count)
    }
  }

  private init(collection: ResourcePath?, chunks: [Chunk], count: Int) {
    self.collection = collection
    self.chunks = chunks
    self.count = count
  }
}
