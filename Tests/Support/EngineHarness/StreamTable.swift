package import HearthModel
package import HearthSync

/// A batch on a write stream.
package struct SentBatch: Equatable {
  package var mutations: [Mutation]
  package var label: String?
  /// Which write it is, for those who number them.
  package var number: Int

  package init(_ mutations: [Mutation], label: String?, number: Int = 0) {
    self.mutations = mutations
    self.label = label
    self.number = number
  }
}

/// The streams of one engine: those that are open, those that were asked for, and those that the engine has closed while they may
/// still be answered.
package struct StreamTable {
  package enum Kind: Sendable { case watch, write }

  package struct Attempt: Equatable {
    package var kind: Kind
    package var id: StreamID

    /// The event of its success.
    var opened: SyncEvent { kind == .watch ? .watchStreamOpened(id) : .writeStreamOpened(id) }

    /// The event of its failure, or of the end of the stream.
    func closed(_ error: StatusError) -> SyncEvent {
      kind == .watch ? .watchStreamClosed(id, error) : .writeStreamClosed(id, error)
    }
  }

  /// A write stream that the engine has closed, and that has not ended.
  package struct Parting {
    package var id: StreamID
    /// The batches that the backend may still answer there, oldest first.
    package var batches: [SentBatch]
  }

  /// The open watch stream.
  package private(set) var watch: StreamID?
  /// The open write stream.
  package private(set) var write: StreamID?
  /// Streams that were asked for and are neither open nor refused, oldest first.
  package private(set) var opening: [Attempt] = []
  /// The targets that the backend was asked to watch on the open stream, and not asked to forget.
  package private(set) var watched: [TargetID: TargetRequest] = [:]
  /// The batches on the open write stream that have no answer, oldest first.
  package private(set) var batches: [SentBatch] = []
  /// Oldest first.
  package private(set) var parting: [Parting] = []

  package init() {}

  /// True if no stream is open, or on the way to that.
  package var isEmpty: Bool { watch == nil && write == nil && opening.isEmpty }

  /// All batches that the backend may still answer.
  package var underWay: [SentBatch] { batches + parting.flatMap(\.batches) }

  func hasStream(_ kind: Kind) -> Bool {
    (kind == .watch ? watch : write) != nil || opening.contains { $0.kind == kind }
  }

  // MARK: - Opening

  mutating func ask(_ attempt: Attempt) { opening.append(attempt) }

  mutating func takeOpening(_ attempt: Attempt) { opening.removeAll { $0 == attempt } }

  mutating func open(_ attempt: Attempt) {
    switch attempt.kind {
    case .watch: watch = attempt.id
    case .write: write = attempt.id
    }
  }

  // MARK: - The watch stream

  mutating func receive(_ request: WatchRequest) {
    switch request {
    case .addTarget(let target): watched[target.targetID] = target
    case .removeTarget(let id): watched[id] = nil
    }
  }

  /// The backend does not watch the target any more.
  ///
  /// - Returns: false if it was not asked to.
  package mutating func drop(_ id: TargetID) -> Bool { watched.removeValue(forKey: id) != nil }

  mutating func endWatch() {
    watch = nil
    watched = [:]
  }

  // MARK: - The write stream

  mutating func append(_ batch: SentBatch) { batches.append(batch) }

  /// Removes the oldest batch that has no answer.
  package mutating func takeBatch() -> SentBatch? { batches.isEmpty ? nil : batches.removeFirst() }

  mutating func endWrite() {
    write = nil
    batches = []
  }

  mutating func park(_ id: StreamID, _ batches: [SentBatch]) { parting.append(Parting(id: id, batches: batches)) }

  /// Removes the oldest batch of the oldest stream that the engine has closed.
  mutating func takePartingBatch() -> SentBatch? {
    parting.isEmpty || parting[0].batches.isEmpty ? nil : parting[0].batches.removeFirst()
  }

  mutating func takeParting() -> Parting? { parting.isEmpty ? nil : parting.removeFirst() }
}
