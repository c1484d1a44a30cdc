package import HearthModel

/// Paths of a command line.
package enum DataPath {
  /// - Throws: A ``DataError`` for a text that is not the path of a collection.
  package static func collection(_ text: String) throws(DataError) -> ResourcePath {
    guard let path = try? ResourcePath(parsing: text), !path.count.isMultiple(of: 2) else {
      throw .argument(
        "\"\(text)\" is not the path of a collection: \(fault(of: text, "an odd number of parts, such as cities or cities/SF/shops"))"
      )
    }
    return path
  }

  /// The collections of an option that may be repeated. One with a comma in its path stands in backquotes, because such a comma is a
  /// mistake far more often than part of a path, and an export without documents looks like one of an empty collection.
  ///
  /// - Throws: A ``DataError`` for a text that is not the path of one collection.
  package static func collections(_ texts: [String], of option: String) throws(DataError) -> [ResourcePath] {
    var paths: [ResourcePath] = []
    for text in texts {
      if text.count > 2, text.hasPrefix("`"), text.hasSuffix("`") {
        paths.append(try collection(String(text.dropFirst().dropLast())))
        continue
      }
      guard let comma = text.firstIndex(where: { $0 == "," || $0 == ";" }) else {
        paths.append(try collection(text))
        continue
      }
      let pieces = text.split(whereSeparator: { $0 == "," || $0 == ";" }).map { Words.trimmed(Array($0)[...]) }
      let repeated = pieces.filter { !$0.isEmpty }.map { "\(option) \(ShellWord.bare(String($0)))" }
      throw .argument(
        "\(option) \"\(text)\": \"\(text[comma])\" (character \(text.distance(from: text.startIndex, to: comma) + 1)) separates no collections. "
          + "Repeat the option: \(repeated.joined(separator: " ")). A path that has it stands in backquotes: "
          + "\(option) \(ShellWord.quoted("`\(text)`")).")
    }
    return paths
  }

  /// - Throws: A ``DataError`` for a text that is not the path of a document.
  package static func document(_ text: String) throws(DataError) -> DocumentKey {
    guard let key = try? DocumentKey(parsing: text) else {
      throw .argument(
        "\"\(text)\" is not the path of a document: \(fault(of: text, "an even number of parts, such as cities/SF"))")
    }
    return key
  }

  /// Several paths of documents.
  ///
  /// - Throws: A ``DataError`` for a text that is none; it says so if a path with spaces was not quoted.
  package static func documents(_ texts: [String]) throws(DataError) -> [DocumentKey] {
    var keys: [DocumentKey] = []
    for (index, text) in texts.enumerated() {
      do {
        keys.append(try document(text))
      } catch {
        // A shell has cut such a path at its space.
        let pairs = [(index - 1, index), (index, index + 1)].filter { $0.0 >= 0 && $0.1 < texts.count }
        let whole = pairs.map { "\(texts[$0.0]) \(texts[$0.1])" }.first { (try? DocumentKey(parsing: $0)) != nil }
        guard let whole else { throw error }
        throw .argument("\(error) If the space is part of the path, quote it: \(ShellWord.quoted(whole)).")
      }
    }
    return keys
  }

  /// The mistake in a text that is not a path.
  ///
  /// - Parameter form: The parts of a path of its kind.
  private static func fault(of text: String, _ form: String) -> String {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    if parts.count > 5, parts[0] == "projects", parts[2] == "databases", parts[4] == "documents" {
      let rest = parts[5...].joined(separator: "/")
      return "leave out what stands before \"\(rest)\"; --project and --database name the rest."
    }
    if parts.count > 1, parts.contains("") {
      // Paths of the console and of addresses begin or end with a slash.
      let bare = parts.filter { !$0.isEmpty }.joined(separator: "/")
      return "one of its parts is empty." + (bare.isEmpty ? "" : " Write \(ShellWord.bare(bare)).")
    }
    return "that has \(form)."
  }

  /// - Throws: A ``DataError`` for a text that is not the name of a field, or of a field within others.
  package static func field(_ text: String) throws(DataError) -> FieldPath {
    let isQuoted = text.utf8.contains(UInt8(ascii: "`"))
    let path = try? isQuoted ? FieldPath(parsingServerFormat: text) : FieldPath(parsingUserFormat: text)
    guard let path else {
      throw .argument(
        "\"\(text)\" is not the name of a field: names are separated by single dots, such as address.city; others stand in "
          + "backquotes, such as `a.b`.")
    }
    return path
  }
}
