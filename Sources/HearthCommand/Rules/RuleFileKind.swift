import HearthRPC

/// The kind of a file, by its beginning.
enum RuleFileKind {
  case rules
  case cases

  private static let largestFile = 4 << 20

  /// - Returns: Nil for a file that cannot be read, or that is neither.
  init?(path: String) {
    guard let contents = try? BoundedFile(path: path, maximumBytes: Self.largestFile).contents() else { return nil }
    let text = String(decoding: contents, as: UTF8.self)
    guard let first = text.first(where: { !$0.isWhitespace }) else { return nil }
    if first == "{" || first == "[" {
      self = .cases
    } else if text.contains("service"), text.contains("match") {
      self = .rules
    } else {
      return nil
    }
  }
}
