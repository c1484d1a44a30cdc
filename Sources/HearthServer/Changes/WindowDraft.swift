internal import HearthModel

/// Collects the window of a query with a limit while its result is sent, in its order.
///
/// It keeps at most the documents that a window may hold. If there are more, they are only counted.
struct WindowDraft: Sendable {
  let query: Query
  /// The number of documents so far.
  private(set) var count = 0
  /// The latest document, with the fields that order.
  private(set) var last: Document?
  /// Nil when there are more than are kept.
  private var heads: [Document]?
  private var bytes = 0
  private var shareBytes = 0
  private let share: WindowMemory.Share?

  /// - Parameter memory: Nil if documents are only counted.
  init(_ query: Query, in memory: WindowMemory?) {
    self.query = query
    share = memory.map { WindowMemory.Share(of: $0) }
    // If the limit is too large to keep its documents, none are kept.
    let most = (memory?.bytesPerWindow ?? 0) / LimitWindow.overheadBytes
    heads = query.limit ?? .max <= most ? [] : nil
  }

  /// False if documents are only counted.
  var hasDocuments: Bool { heads != nil }

  private var limit: Int { query.limit ?? .max }

  /// The last document of the result if it has as many as the limit allows; nil if each document that matches is in it.
  var edge: Document? { count >= limit ? last : nil }

  mutating func add(_ document: Document) {
    let head = LimitWindow.head(of: document, for: query)
    count += 1
    last = head
    guard let share, heads != nil else { return }
    bytes += LimitWindow.bytes(of: head)
    heads?.append(head)
    guard bytes > shareBytes else { return }
    // In growing steps, because the memory is shared.
    shareBytes = bytes + bytes / 2
    guard !share.resize(to: shareBytes) else { return }
    shareBytes = bytes
    guard !share.resize(to: bytes) else { return }
    heads = nil
    _ = share.resize(to: 0)
  }

  /// The window of the result, which has passed as a whole; nil if it is too large to be kept.
  func window() -> LimitWindow? {
    if let share, let heads {
      _ = share.resize(to: bytes)
      return LimitWindow(heads, of: query, in: share)
    }
    return count < limit ? LimitWindow(count: count, of: query) : nil
  }
}

/// A window that was read again, to replace a known one.
struct RefilledWindow: Sendable {
  var window: LimitWindow
  /// The documents that are new in it or have changed, of ``maximumContentBytes`` at most.
  var contents: [DocumentKey: Document]

  static let maximumContentBytes = 1 << 20
}
