internal import HearthModel
internal import HearthStore

/// The position in a difference after a piece of it: the embedded storage's content of a ``DifferenceCursor``.
enum DifferencePosition: Sendable {
  /// In the log.
  case change(ChangeCursor)
  /// The number of examined documents of a documents target.
  case documents(Int)

  /// - Throws: INTERNAL for the place of another storage.
  init(_ cursor: DifferenceCursor) throws(StatusError) {
    guard let position = cursor.position as? DifferencePosition else { throw .foreignCursor }
    self = position
  }

  var cursor: DifferenceCursor { DifferenceCursor(position: self) }
}

extension StorageReader.Snapshot {
  /// The next piece of what has become of a target between two versions.
  ///
  /// Without a limit, that is each document that was written in between and is in the result at the end, was in it at the start, or has passed
  /// through it. With one, it is only those that are not in the result at the end: the others come with the result.
  ///
  /// - Parameter cursor: The end of the piece before; nil for the first.
  /// - Returns: Nil if the log does not reach back to `start`, or not any more.
  func difference(
    of source: WatchSource, after start: SnapshotVersion, through end: SnapshotVersion, from cursor: DifferenceCursor?,
    edges: WindowEdges?, size: DifferencePiece.Size
  ) throws -> DifferencePiece? {
    guard start >= logStart else { return nil }
    var reading = DifferenceReading(of: source, through: end, edges: edges, size: size)
    func visit(_ former: Document?) throws {
      guard let former else { return reading.visitNothing() }
      let document = try document(former.key, at: end)
      try reading.visit(DocumentTransition(before: former, after: document)) { transition in
        try reader.changes.hasState(between: transition, after: start, through: end, where: source.matches)
      }
    }
    let changes = reader.changes
    let place = try cursor.map(DifferencePosition.init)
    switch source.scope {
    case .documents:
      var count = 0
      if case .documents(let known) = place { count = known }
      let keys = source.keys
      while count < keys.count, reading.hasRoom {
        try visit(changes.formerDocument(keys[count], at: start, through: end))
        count += 1
      }
      if count < keys.count { reading.piece.next = DifferencePosition.documents(count).cursor }
    case .collections(let scope):
      var position: ChangeCursor?
      if case .change(let known) = place { position = known }
      let left = try changes.walk(scope, asOf: start, after: start, through: end, from: position) { row in
        try visit(row.isInScope ? changes.formerDocument(row, at: start) : nil)
        return reading.hasRoom
      }
      reading.piece.next = left.map { DifferencePosition.change($0).cursor }
    }
    return reading.finish()
  }

  /// The number of changes that ``difference(of:after:through:from:edges:size:)`` has to look at, as far as it is not above a limit; nil if the
  /// log does not reach back to `start`.
  func changeCount(
    of query: Query, after start: SnapshotVersion, through end: SnapshotVersion, upTo limit: Int
  ) throws -> Int? {
    guard start >= logStart else { return nil }
    return try reader.changes.count(in: CollectionScope(of: query), after: start, through: end, upTo: limit)
  }
}
