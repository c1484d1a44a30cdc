internal import HearthModel

/// The paths of collections as a tree, read segment by segment: a step costs a few lookups, however many collections there are.
///
/// The table's index orders paths as texts, where `a!/x/b` comes before `a/x/b`, because "/" is not the smallest byte. Keys are ordered by
/// segments, and `a` comes before `a!`. A segment that the index shows too late is a prefix of the segment that it shows, so prefixes are
/// looked up one by one. Only prefixes before a byte smaller than "/" need a look-up.
struct CollectionTree {
  let database: Database
  /// Only collections with this id; nil for all.
  let group: String?
  /// Has the paths. Only the default one has groups.
  var table = "collections"

  private static let separator = UInt8(ascii: "/")

  private func path(from lower: String, below upper: String?, isLast: Bool = false) throws -> String? {
    var conditions = ["path >= ?"]
    var parameters: [Statement.Parameter] = [.text(lower)]
    if let upper {
      conditions.append("path < ?")
      parameters.append(.text(upper))
    }
    if let group {
      conditions.append("group_id = ?")
      parameters.append(.text(group))
    }
    let index = group == nil ? "" : " INDEXED BY collections_by_group"
    let statement = try database.prepare(
      "SELECT path FROM \(table)\(index) WHERE \(conditions.joined(separator: " AND ")) "
        + "ORDER BY path\(isLast ? " DESC" : "") LIMIT 1", parameters)
    return try statement.step() ? try statement.string(at: 0) : nil
  }

  /// The root, a document or a collection, as the parent of a walk's next segments.
  struct Node {
    /// The text in front of the next segments: the path and a slash.
    let prefix: String
    fileprivate let end: String?

    init(_ path: ResourcePath) {
      let range = PathRange(below: path)
      prefix = path.isEmpty ? "" : range.lower
      end = path.isEmpty ? nil : range.upper
    }

    fileprivate func segment(of path: String) -> String {
      String(Substring(path.utf8.dropFirst(prefix.utf8.count).prefix { $0 != CollectionTree.separator }))
    }
  }

  private func holdsPath(below path: String) throws -> Bool {
    let range = PathRange(below: path)
    return try self.path(from: range.lower, below: range.upper) != nil
  }

  /// Returns whether a collection lies at a segment or below it.
  func contains(_ segment: String, of node: Node) throws -> Bool {
    let path = node.prefix + segment
    return try self.path(from: path, below: path + "\u{0}") != nil || holdsPath(below: path)
  }

  /// The segment that follows one in the order of bytes; the first one for nil.
  func segment(after segment: String?, of node: Node) throws -> String? {
    var next: String?
    if let segment {
      let path = node.prefix + segment
      next = try self.path(from: path + "\u{0}", below: node.end)
      // Paths below the segment itself and below its prefixes may follow too.
      while let own = next.map(node.segment), !segment.utf8.lexicographicallyPrecedes(own.utf8) {
        next = try self.path(from: PathRange(below: node.prefix + own).upper, below: node.end)
      }
    } else {
      next = try path(from: node.prefix, below: node.end)
    }
    guard let found = next.map(node.segment) else { return nil }
    for prefix in Self.prefixesBeforeSmallBytes(of: found) {
      if let segment, !segment.utf8.lexicographicallyPrecedes(prefix.utf8) { continue }
      if try holdsPath(below: node.prefix + prefix) { return prefix }
    }
    return found
  }

  /// The segment that precedes one in the order of bytes; the last one for nil.
  func segment(before segment: String?, of node: Node) throws -> String? {
    let end = segment.map { node.prefix + $0 } ?? node.end
    var found = try path(from: node.prefix, below: end, isLast: true).map(node.segment)
    // A segment that extends this one by a byte smaller than "/" lies before its paths in the index, and behind it in the order of
    // segments.
    while let shorter = found {
      let path = node.prefix + shorter
      var upper = PathRange(below: path).lower
      if let end, end.utf8.lexicographicallyPrecedes(upper.utf8) { upper = end }
      guard let longer = try self.path(from: path + "\u{0}", below: upper, isLast: true) else { break }
      found = node.segment(of: longer)
    }
    for prefix in Self.prefixesBeforeSmallBytes(of: segment ?? "").reversed() {
      if let found, !found.utf8.lexicographicallyPrecedes(prefix.utf8) { break }
      if try holdsPath(below: node.prefix + prefix) { return prefix }
    }
    return found
  }

  /// Shortest first. Such a byte is a character of its own, so each prefix is a text.
  private static func prefixesBeforeSmallBytes(of segment: String) -> [String] {
    let bytes = segment.utf8
    return bytes.indices.dropFirst().filter { bytes[$0] < Self.separator }.map { String(Substring(bytes[..<$0])) }
  }
}

/// The bounds of a walk: its first and last segment.
struct SegmentRange {
  var lower: String?
  var upper: String?

  func contains(_ segment: String) -> Bool {
    if let lower, PathSegment.compare(segment, lower) == .ascending { return false }
    if let upper, PathSegment.compare(segment, upper) == .descending { return false }
    return true
  }

  /// Ids of numbers come before all others.
  var mayHoldNumeric: Bool { lower.map { PathSegment.numericID($0) != nil } ?? true }
  var mayHoldOthers: Bool { upper.map { PathSegment.numericID($0) == nil } ?? true }
  /// The bounds of ids that are not of numbers.
  var lowerOther: String? { mayHoldNumeric ? nil : lower }
  var upperOther: String? { mayHoldOthers ? upper : nil }

  /// The segments that lie in the range, in reverse order of the walk: its first one is last.
  func walk(numeric segments: [String], isBackward: Bool) -> [String] {
    segments.filter(contains).sorted { PathSegment.compare($0, $1) == (isBackward ? .ascending : .descending) }
  }
}

/// The next segments of one node of a ``CollectionTree``, in the order of keys or backward.
struct SegmentRun {
  private let tree: CollectionTree
  private let node: CollectionTree.Node
  private let range: SegmentRange
  private let isBackward: Bool
  private var numeric: [String] = []
  private var hasOthers: Bool
  private var latest: String?
  /// Nil behind the last one.
  private(set) var current: String?

  init(_ tree: CollectionTree, below path: ResourcePath, in range: SegmentRange, isBackward: Bool) throws {
    self.tree = tree
    node = CollectionTree.Node(path)
    self.range = range
    self.isBackward = isBackward
    hasOthers = range.mayHoldOthers
    if range.mayHoldNumeric { numeric = range.walk(numeric: try numericSegments(), isBackward: isBackward) }
    try advance()
  }

  private func numericSegments() throws -> [String] {
    var segments: [String] = []
    var next = try tree.segment(after: "__id", of: node)
    while let segment = next, segment.utf8.starts(with: "__id".utf8) {
      if PathSegment.numericID(segment) != nil { segments.append(segment) }
      next = try tree.segment(after: segment, of: node)
    }
    return segments
  }

  mutating func advance() throws {
    if !isBackward, let segment = numeric.popLast() {
      current = segment
    } else if hasOthers, let segment = try nextOther() {
      latest = segment
      current = segment
    } else {
      hasOthers = false
      current = isBackward ? numeric.popLast() : nil
    }
  }

  private func nextOther() throws -> String? {
    var next = latest
    if next == nil, let start = isBackward ? range.upperOther : range.lowerOther {
      if try tree.contains(start, of: node) { return range.contains(start) ? start : nil }
      next = start
    }
    repeat {
      next = try isBackward ? tree.segment(before: next, of: node) : tree.segment(after: next, of: node)
    } while next.map { PathSegment.numericID($0) != nil } ?? false
    return next.flatMap { range.contains($0) ? $0 : nil }
  }
}
