internal import HearthModel

/// Collects the sort keys of a result's documents, but no more than its limit needs.
///
/// A sort key holds the values of the query's orders, and the document's key, in the encoding of ``OrderedValueWriter``. So comparing keys
/// byte by byte gives the order of the result. All memory comes from a ``SortAccount``.
struct SortKeyList {
  private struct Entry {
    /// The first bytes of the sort key, which decide most comparisons.
    let prefix: UInt64
    /// The sort key, then the document's name. No sort key is the beginning of another one, so the names decide nothing.
    let bytes: [UInt8]
    let keyCount: Int

    static func precedes(_ a: Entry, _ b: Entry) -> Bool {
      if a.prefix != b.prefix { return a.prefix < b.prefix }
      return ByteOrder.compare(a.bytes, b.bytes) == .ascending
    }

    /// The memory of the entry and of its name in the sorted list. 80 bytes are for the entry in a list that grows, and for the head of
    /// its array.
    var chargedBytes: Int { 80 + bytes.count + SortedKeys.chargedBytes(ofName: bytes.count - keyCount) }
  }

  private let scope: CollectionScope
  private let orders: [OrderBy]
  private let limit: Int?
  private let keepsLast: Bool
  private let share: SortShare
  private var writer = OrderedValueWriter()
  private var entries: [Entry] = []
  private var chargedBytes = 0
  /// The outermost of as many keys as the limit allows; nil while there are fewer.
  private var edge: Entry?

  init(of query: Query, account: SortAccount) {
    scope = CollectionScope(of: query)
    // Behind the key, nothing decides.
    let end = query.orders.firstIndex(where: \.path.isDocumentKey) ?? query.orders.count - 1
    orders = Array(query.orders[...end])
    limit = query.limit.map { max($0, 0) }
    keepsLast = query.isLimitToLast
    share = SortShare(of: account)
  }

  mutating func add(_ key: DocumentKey, _ fields: EncodedFieldsView) throws {
    writer.removeAll()
    for order in orders {
      let isDescending = order.direction == .descending
      if order.path.isDocumentKey {
        append(key, descending: isDescending)
      } else if let value = try fields.value(at: order.path) {
        try writer.append(value, descending: isDescending)
      }
    }
    let entry = entry(of: key)
    if let edge, Entry.precedes(edge, entry) != keepsLast { return }
    chargedBytes += entry.chargedBytes
    try share.grow(to: chargedBytes)
    entries.append(entry)
    if let limit, entries.count >= 16, entries.count / 2 >= limit { cut(to: limit) }
  }

  /// In one collection, the id says as much as the whole key.
  private mutating func append(_ key: DocumentKey, descending: Bool) {
    if case .collection = scope {
      writer.append(documentID: key.id, descending: descending)
    } else {
      writer.append(documentKey: key, descending: descending)
    }
  }

  private func entry(of key: DocumentKey) -> Entry {
    let name = if case .collection = scope { key.id } else { key.canonicalString }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(writer.bytes.count + name.utf8.count)
    bytes += writer.bytes
    bytes += name.utf8
    var prefix: UInt64 = 0
    for index in 0..<8 { prefix = prefix << 8 | (index < bytes.count ? UInt64(bytes[index]) : 0) }
    return Entry(prefix: prefix, bytes: bytes, keyCount: writer.bytes.count)
  }

  private mutating func cut(to limit: Int) {
    entries.sort(by: Entry.precedes)
    guard entries.count > limit else { return }
    let surplus = entries.count - limit
    if keepsLast { entries.removeFirst(surplus) } else { entries.removeLast(surplus) }
    assert(entries.count == limit, "\(entries.count) keys are left of a list that was cut to \(limit)")
    edge = keepsLast ? entries.first : entries.last
    chargedBytes = entries.reduce(0) { $0 + $1.chargedBytes }
  }

  /// The documents' names in the order of the result.
  mutating func finish() -> SortedKeys {
    cut(to: limit ?? entries.count)
    var names = SortedKeys.Builder(of: scope, share: share)
    for entry in entries { names.append(entry.bytes[entry.keyCount...]) }
    entries = []
    return names.finish()
  }
}
