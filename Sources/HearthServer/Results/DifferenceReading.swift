internal import HearthModel

extension DifferencePiece {
  /// Sizes at which a piece ends.
  struct Size: Sendable {
    /// The bytes of the documents of the piece.
    var bytes = PieceSizes().bytes
    /// Changes that are looked at.
    var visits = 2_000
    /// The bytes of the contents that are read for it.
    var readBytes = 4 << 20
  }
}

/// Makes a piece of a difference from the documents that have changed.
struct DifferenceReading {
  private let source: WatchSource
  private let end: SnapshotVersion
  private let edges: WindowEdges?
  private let size: DifferencePiece.Size
  var piece = DifferencePiece()
  private var visits = 0
  private var bytes = 0
  private var readBytes = 0

  init(of source: WatchSource, through end: SnapshotVersion, edges: WindowEdges?, size: DifferencePiece.Size) {
    (self.source, self.end, self.edges, self.size) = (source, end, edges, size)
  }

  var hasRoom: Bool { visits < size.visits && bytes < size.bytes && readBytes < size.readBytes }

  /// A change was looked at that says nothing new.
  mutating func visitNothing() {
    visits += 1
  }

  /// Takes up a document that has changed.
  ///
  /// - Parameters:
  ///   - transition: The document at the start and at the end of the difference.
  ///   - hasPassed: Returns whether it matched at a version in between, see ``WatchChange/isNothing(after:)``. Asked only if it matters.
  mutating func visit(
    _ transition: DocumentTransition, hasPassed: (DocumentTransition) throws -> Bool
  ) throws {
    visits += 1
    let (former, document) = (transition.before, transition.after)
    readBytes += former.fields.bytes.count + document.fields.bytes.count
    let wasIn = edges.map { $0.contains(former, endingWith: $0.before) } ?? source.matches(former)
    let isIn = edges.map { $0.contains(document, endingWith: $0.after) } ?? source.matches(document)
    piece.growth += (isIn ? 1 : 0) - (wasIn ? 1 : 0)
    if isIn {
      if edges == nil { add(document, isIn: true) }
    } else if try wasIn || hasPassed(transition) {
      add(document.isFound ? document : .missing(document.key, version: end), isIn: false)
    }
  }

  private mutating func add(_ document: Document, isIn: Bool) {
    bytes += document.fields.bytes.count + 2 * document.key.canonicalString.utf8.count + 128
    piece.changes.append(DifferencePiece.Change(document: document, isIn: isIn))
  }

  /// The piece, in the order of keys.
  mutating func finish() -> DifferencePiece {
    piece.changes.sort { $0.document.key < $1.document.key }
    return piece
  }
}
