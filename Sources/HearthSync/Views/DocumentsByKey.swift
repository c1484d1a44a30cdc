internal import HearthModel

/// Documents by key, in constant time.
///
/// A value that shares its storage. It is divided into many small dictionaries by the hash of the key, so changing a few documents of a
/// copy copies only the dictionaries that hold them.
struct DocumentsByKey: Sendable {
  /// Target documents per dictionary; the table is split when the average reaches twice this.
  private static let usualPartSize = 16

  /// A power of two of them.
  private var parts: ContiguousArray<[DocumentKey: DocumentList.Box]> = [[:]]
  private(set) var count = 0

  init() {}

  init(boxes: [DocumentList.Box]) {
    divide(for: boxes.count)
    for box in boxes { insert(box) }
  }

  subscript(key: DocumentKey) -> DocumentList.Box? { parts[part(of: key)][key] }

  /// Inserts a document in place of an earlier version of it, which is returned.
  @discardableResult
  mutating func insert(_ box: DocumentList.Box) -> DocumentList.Box? {
    let key = box.document.key
    if let known = parts[part(of: key)].updateValue(box, forKey: key) { return known }
    count += 1
    if count > parts.count * Self.usualPartSize * 2 { divideAgain() }
    return nil
  }

  /// Removes a document and returns it.
  @discardableResult
  mutating func remove(_ key: DocumentKey) -> DocumentList.Box? {
    let known = parts[part(of: key)].removeValue(forKey: key)
    if known != nil { count -= 1 }
    return known
  }

  private func part(of key: DocumentKey) -> Int {
    key.hashValue & (parts.count - 1)
  }

  private mutating func divideAgain() {
    let old = parts
    divide(for: count * 2)
    count = 0
    for box in old.joined() { insert(box.value) }
  }

  /// Makes new, empty dictionaries for this many documents.
  private mutating func divide(for expected: Int) {
    var partCount = 1
    while partCount * Self.usualPartSize < expected { partCount *= 2 }
    parts = ContiguousArray(
      (0..<partCount).lazy.map { _ in Dictionary(minimumCapacity: partCount > 1 ? Self.usualPartSize : 0) })
  }
}
