/// The place of a collection or a document below the root of a database: `cities/SF/landmarks`. The empty path is the
/// root.
///
/// Paths are ordered segment by segment: ids of the form `__id<number>__` first and by number, then all others by their
/// UTF-8 bytes. Kept as one string, so a copy costs a reference count; `count` and access to a segment are linear in
/// its length.
package struct ResourcePath: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// Segments joined by `/`. Empty at the root, no leading, trailing or doubled slash.
  package let canonicalString: String

  /// The root of a database.
  package init() {
    canonicalString = ""
  }

  /// The path with these segments. A segment that itself contains slashes counts as several, and empty ones are left
  /// out.
  package init(_ segments: [String]) {
    let isPlain = segments.allSatisfy { !$0.isEmpty && !$0.utf8.contains(PathSegment.separator) }
    canonicalString =
      isPlain
      ? segments.joined(separator: "/")
      : segments.flatMap { $0.utf8.split(separator: PathSegment.separator).map { String(Substring($0)) } }
        .joined(separator: "/")
  }

  private init(joined: String) {
    canonicalString = joined
  }

  /// Parses a path that a user writes: one leading or trailing slash is dropped.
  ///
  /// - Throws: `ModelError.invalidPath` for an empty path and for one with an empty segment.
  package init(parsing path: String) throws(ModelError) {
    var bytes = path.utf8[...]
    if Self.hasEmptySegmentBetweenSlashes(bytes) {
      throw .invalidPath(path, rule: "Paths must not contain // in them.")
    }
    if bytes.first == PathSegment.separator { bytes.removeFirst() }
    if bytes.last == PathSegment.separator { bytes.removeLast() }
    if bytes.isEmpty {
      throw .invalidPath(path, rule: "Paths must not be empty.")
    }
    canonicalString = bytes.count == path.utf8.count ? path : String(Substring(bytes))
  }

  /// Parses `canonicalString` back. The empty string is the root.
  ///
  /// - Throws: `ModelError.invalidPath` if the string is no canonical form of a path.
  package init(canonical path: String) throws(ModelError) {
    let bytes = path.utf8[...]
    if Self.hasEmptySegmentBetweenSlashes(bytes) || bytes.first == PathSegment.separator
      || bytes.last == PathSegment.separator
    {
      throw .invalidPath(path, rule: "Segments must not be empty.")
    }
    canonicalString = path
  }

  private static func hasEmptySegmentBetweenSlashes(_ path: Substring.UTF8View) -> Bool {
    var previous: UInt8 = 0
    for byte in path {
      if byte == PathSegment.separator && previous == PathSegment.separator { return true }
      previous = byte
    }
    return false
  }

  package var segments: [String] {
    var segments: [String] = []
    appendSegments(to: &segments)
    return segments
  }

  /// Appends the segments to other names, without an array in between.
  package func appendSegments(to names: inout [String]) {
    guard !isEmpty else { return }
    ByteOrder.withUTF8(of: canonicalString) { bytes in
      var start = 0
      for place in 0...bytes.count where place == bytes.count || bytes[place] == PathSegment.separator {
        // A slash is no part of another character, so that what is between two of them is UTF-8 as the whole is.
        names.append(String(decoding: UnsafeRawBufferPointer(rebasing: bytes[start..<place]), as: UTF8.self))
        start = place + 1
      }
    }
  }

  package var count: Int {
    ByteOrder.withUTF8(of: canonicalString) { bytes in
      if bytes.isEmpty { return 0 }
      var count = 1
      for byte in bytes where byte == PathSegment.separator { count &+= 1 }
      return count
    }
  }

  package var isEmpty: Bool { canonicalString.isEmpty }

  package var last: String? {
    guard !isEmpty else { return nil }
    guard let slash = lastSeparator else { return canonicalString }
    return String(canonicalString[canonicalString.utf8.index(after: slash)...])
  }

  /// The path without its last segment; the root is its own parent.
  package var parent: ResourcePath {
    guard let slash = lastSeparator else { return ResourcePath() }
    return ResourcePath(joined: String(canonicalString[..<slash]))
  }

  private var lastSeparator: String.Index? {
    canonicalString.utf8.lastIndex(of: PathSegment.separator)
  }

  package var description: String { canonicalString }

  package func appending(_ segment: String) -> ResourcePath {
    guard !isEmpty, !segment.isEmpty, !segment.utf8.contains(PathSegment.separator) else {
      return appending(ResourcePath([segment]))
    }
    return ResourcePath(joined: "\(canonicalString)/\(segment)")
  }

  package func appending(_ path: ResourcePath) -> ResourcePath {
    if isEmpty { return path }
    if path.isEmpty { return self }
    return ResourcePath(joined: "\(canonicalString)/\(path.canonicalString)")
  }

  /// Returns whether `other` is this path or lies below it.
  package func isPrefix(of other: ResourcePath) -> Bool {
    if isEmpty { return true }
    return ByteOrder.withUTF8(of: canonicalString) { prefix in
      ByteOrder.withUTF8(of: other.canonicalString) { whole in
        guard whole.count >= prefix.count else { return false }
        guard whole.count == prefix.count || whole[prefix.count] == PathSegment.separator else { return false }
        return ByteOrder.compare(prefix, UnsafeRawBufferPointer(rebasing: whole[..<prefix.count])) == .same
      }
    }
  }

  /// Returns whether `other` has exactly one segment more than this path and begins with it.
  package func isImmediateParent(of other: ResourcePath) -> Bool {
    isPrefix(of: other) && other.count == count + 1
  }

  package static func compare(_ a: ResourcePath, _ b: ResourcePath) -> Ordering {
    ByteOrder.withUTF8(of: a.canonicalString) { x in
      ByteOrder.withUTF8(of: b.canonicalString) { y in PathSegment.comparePaths(x, y) }
    }
  }

  package static func < (a: ResourcePath, b: ResourcePath) -> Bool { compare(a, b) == .ascending }

  package static func == (a: ResourcePath, b: ResourcePath) -> Bool {
    ByteOrder.areEqual(a.canonicalString, b.canonicalString)
  }

  package func hash(into hasher: inout Hasher) {
    ByteOrder.hash(canonicalString, into: &hasher)
  }
}
