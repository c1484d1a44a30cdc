package import HearthModel

/// Documents in the order of a query.
///
/// A value that shares its storage: a copy costs one reference count, and a change of a copy costs the chunk that it hits and the list of
/// chunks, about the square root of the number of documents. So a view can keep the list before a snapshot as well as the one after it.
/// Access by index adds up the sizes of the chunks before; go through the list by iteration.
package struct DocumentList: RandomAccessCollection, Sendable {
  /// A document that several lists and tables hold.
  final class Box: Sendable {
    let document: Document
    /// Decides most comparisons, see `Query.orderPrefix(of:)`; the same for all where the order does not matter.
    private let orderPrefix: UInt64

    init(_ document: Document) {
      self.document = document
      orderPrefix = 0
    }

    init(_ document: Document, orderedBy query: Query) {
      self.document = document
      orderPrefix = query.orderPrefix(of: document)
    }

    /// Both must have been created with the order of this query.
    func isBefore(_ other: Box, _ query: Query) -> Bool {
      if orderPrefix != other.orderPrefix { return orderPrefix < other.orderPrefix }
      return query.compare(document, other.document) == .ascending
    }
  }

  /// The position of a document: the chunk, and the offset in it. Valid until the list changes.
  struct Position: Equatable {
    var chunk: Int
    var offset: Int
  }

  typealias Chunk = ContiguousArray<Box>

  /// Larger ones are cut in two. Copying one takes a quarter of a microsecond.
  private static let maximumChunkSize = 64

  /// None is empty.
  private var chunks: ContiguousArray<Chunk> = []
  /// The sizes of the chunks, stored apart from them so that adding them up reads one piece of memory.
  private var sizes: [Int] = []
  package private(set) var count = 0

  package init() {}

  /// The documents of a sequence in its order.
  package init(_ documents: some Sequence<Document>) {
    self.init(boxes: documents.map { Box($0) })
  }

  init(boxes: [Box]) {
    // Three quarters full, so that the first insertions do not cut every chunk.
    let size = Self.maximumChunkSize / 4 * 3
    for start in stride(from: 0, to: boxes.count, by: size) {
      let chunk = Chunk(boxes[start..<Swift.min(start + size, boxes.count)])
      chunks.append(chunk)
      sizes.append(chunk.count)
    }
    count = boxes.count
  }

  package var startIndex: Int { 0 }
  package var endIndex: Int { count }

  package subscript(index: Int) -> Document {
    precondition(index >= 0 && index < count, "Index \(index) is not in a list of \(count) documents.")
    var chunk = 0
    var offset = index
    while offset >= sizes[chunk] {
      offset -= sizes[chunk]
      chunk += 1
    }
    return chunks[chunk][offset].document
  }

  package var first: Document? { chunks.first?.first?.document }
  package var last: Document? { chunks.last?.last?.document }

  package struct Iterator: IteratorProtocol {
    fileprivate var chunks: ContiguousArray<Chunk>
    fileprivate var chunk = 0
    fileprivate var offset = 0

    package mutating func next() -> Document? {
      guard chunk < chunks.count else { return nil }
      let document = chunks[chunk][offset].document
      offset += 1
      if offset == chunks[chunk].count {
        chunk += 1
        offset = 0
      }
      return document
    }
  }

  package func makeIterator() -> Iterator { Iterator(chunks: chunks) }

  // MARK: - Positions

  var boxes: some Sequence<Box> { chunks.joined() }

  /// The index of a position.
  func index(of position: Position) -> Int {
    sizes.withUnsafeBufferPointer { $0[..<position.chunk].reduce(position.offset, &+) }
  }

  /// The first position whose document does not sort before that of `box`; behind the last one if all do.
  func position(of box: Box, in query: Query) -> Position {
    var low = 0
    var high = chunks.count
    // The first chunk whose last document does not sort before it.
    while low < high {
      let middle = low + (high - low) / 2
      if chunks[middle][chunks[middle].count - 1].isBefore(box, query) {
        low = middle + 1
      } else {
        high = middle
      }
    }
    guard low < chunks.count else { return Position(chunk: low, offset: 0) }
    let chunk = low
    low = 0
    high = chunks[chunk].count
    while low < high {
      let middle = low + (high - low) / 2
      if chunks[chunk][middle].isBefore(box, query) {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return Position(chunk: chunk, offset: low)
  }

  /// The document at a position, nil behind the last one.
  func box(at position: Position) -> Box? {
    position.chunk < chunks.count ? chunks[position.chunk][position.offset] : nil
  }

  func box(before position: Position) -> Box? {
    if position.offset > 0 { return chunks[position.chunk][position.offset - 1] }
    return position.chunk > 0 ? chunks[position.chunk - 1].last : nil
  }

  func box(after position: Position) -> Box? {
    if position.offset + 1 < chunks[position.chunk].count { return chunks[position.chunk][position.offset + 1] }
    return position.chunk + 1 < chunks.count ? chunks[position.chunk + 1].first : nil
  }

  // MARK: - Changes

  mutating func replace(at position: Position, with box: Box) {
    chunks[position.chunk][position.offset] = box
  }

  /// Inserts in front of what is at a position.
  mutating func insert(_ box: Box, at position: Position) {
    count += 1
    var position = position
    if position.chunk == chunks.count {
      guard let last = chunks.indices.last else {
        chunks.append([box])
        sizes.append(1)
        return
      }
      position = Position(chunk: last, offset: chunks[last].count)
    }
    chunks[position.chunk].insert(box, at: position.offset)
    sizes[position.chunk] += 1
    if sizes[position.chunk] > Self.maximumChunkSize { cut(position.chunk) }
  }

  mutating func remove(at position: Position) {
    count -= 1
    chunks[position.chunk].remove(at: position.offset)
    sizes[position.chunk] -= 1
    if sizes[position.chunk] == 0 {
      chunks.remove(at: position.chunk)
      sizes.remove(at: position.chunk)
    } else {
      joinIfSmall(position.chunk)
    }
  }

  private mutating func cut(_ chunk: Int) {
    let middle = chunks[chunk].count / 2
    let rest = Chunk(chunks[chunk][middle...])
    chunks[chunk].removeLast(rest.count)
    sizes[chunk] = middle
    chunks.insert(rest, at: chunk + 1)
    sizes.insert(rest.count, at: chunk + 1)
  }

  /// Keeps a list from which much was removed from consisting of many small chunks.
  private mutating func joinIfSmall(_ chunk: Int) {
    guard chunk + 1 < chunks.count, sizes[chunk] + sizes[chunk + 1] <= Self.maximumChunkSize / 2 else { return }
    chunks[chunk].append(contentsOf: chunks[chunk + 1])
    sizes[chunk] += sizes[chunk + 1]
    chunks.remove(at: chunk + 1)
    sizes.remove(at: chunk + 1)
  }
}

extension DocumentList: Equatable {
  package static func == (a: DocumentList, b: DocumentList) -> Bool { a.elementsEqual(b) }
}

extension DocumentList: ExpressibleByArrayLiteral {
  package init(arrayLiteral elements: Document...) {
    self.init(elements)
  }
}
