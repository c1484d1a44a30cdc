import Foundation

/// A member of the official API: the type or group it belongs to, and its signature.
struct ApiRow: Hashable, CustomStringConvertible {
  var section: String
  var signature: String

  var description: String { "\(section): \(signature)" }
}

/// A member and the code of the folder `Uses` that calls it, which the compiler has checked.
struct ApiUse {
  var row: ApiRow
  var file: String
  var code: [String]
}

/// The table in the folder `Uses`: a comment `row:` with the member above each use, a comment `section:` above each group of uses.
struct ApiTable {
  var uses: [ApiUse] = []

  static let project = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  init(folder: URL = project.appendingPathComponent("Tests/ApiSurfaceTests/Uses")) throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
    for name in names.sorted() {
      read(try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8), file: name)
    }
  }

  init(text: String) {
    read(text, file: "")
  }

  private mutating func read(_ text: String, file: String) {
    var section = ""
    var use: ApiUse?
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if let name = line.suffix(after: "// section: ") {
        section = name
      } else if let signature = line.suffix(after: "  // row: ") {
        if let use { uses.append(use) }
        use = ApiUse(row: ApiRow(section: section, signature: signature), file: file, code: [])
      } else if let rest = line.suffix(after: "  //   "), use?.code.isEmpty == true {
        use?.row.signature += " " + rest
      } else if line == "}" {
        if let use { uses.append(use) }
        use = nil
      } else if !line.isEmpty {
        use?.code.append(line.trimmingCharacters(in: .whitespaces))
      }
    }
  }

  /// The table as a page: each member with the code that calls it.
  var page: String {
    var lines = [
      "# The public API, member by member", "",
      "Written by `HEARTH_WRITE_API_PAGE=1 swift test --filter ApiSurfaceTests` from `Tests/ApiSurfaceTests/Uses`, whose code is",
      "compiled in Swift 6 and Swift 5 mode. Each row is a member of the official Swift SDK and the code that calls Hearth's.",
      "", "\(uses.count) members. Hearth's own ones are in [additions](additions.md).",
    ]
    var sections: [String] = []
    for use in uses where !sections.contains(use.row.section) { sections.append(use.row.section) }
    for section in sections {
      lines += ["", "## \(section)", "", "| official | used as |", "|---|---|"]
      for use in uses where use.row.section == section {
        let code = use.code.joined(separator: " ")
        lines.append("| `\(use.row.signature.inTable)` | `\(code.inTable)` |")
      }
    }
    lines += ["", "## Members without a compiled use", "", "| official | Hearth |", "|---|---|"]
    lines += Self.withoutUse.map { "| \($0.official) | \($0.state) |" }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The rest of the official API: what needs an Apple framework, and what Hearth lacks.
  private static let withoutUse: [(official: String, state: String)] = [
    ("`@FirestoreQuery` (SwiftUI) with both initializers and `Configuration`", onApplePlatforms),
    ("`Query.filter(using: NSPredicate)`", onApplePlatforms), ("pipelines (Enterprise edition)", "not available"),
  ]

  private static let onApplePlatforms = "on Apple platforms, where it has not been compiled yet"
}

/// The description of the official API. It lies next to the project on machines that develop it.
enum OfficialSurface {
  /// The file that `HEARTH_API_SURFACE` names, or `shared/docs/api-surface.md` next to the project.
  static let path =
    ProcessInfo.processInfo.environment["HEARTH_API_SURFACE"]
    ?? ApiTable.project.deletingLastPathComponent().appendingPathComponent("shared/docs/api-surface.md").path

  /// True if there is a file to compare with. One that was named must be there: its absence is a failure, not a skip.
  static let isAvailable =
    ProcessInfo.processInfo.environment["HEARTH_API_SURFACE"] != nil || FileManager.default.fileExists(atPath: path)

  /// Members that are promised: tagged as named by the pages, as core or as ecosystem. Pipelines and what needs an Apple framework
  /// are not.
  static func rows(of text: String) -> [ApiRow] {
    var section = ""
    var rows: [ApiRow] = []
    for line in text.split(separator: "\n") {
      if let title = line.suffix(after: "### ") {
        section = String(title.split(separator: " — ", maxSplits: 1).first ?? "").trimmingCharacters(in: .whitespaces)
      } else if line.hasPrefix("- `"), let end = line.range(of: "` [") {
        let tags = line[end.upperBound...].prefix { $0 != "—" }
        guard ["seed]", "core]", "ecosystem]"].contains(where: tags.contains) else { continue }
        rows.append(
          ApiRow(section: section, signature: String(line[line.index(line.startIndex, offsetBy: 3)..<end.lowerBound])))
      }
    }
    return rows
  }
}

extension Substring {
  /// The rest of the line after a prefix, or nil if the line does not begin with it.
  fileprivate func suffix(after prefix: String) -> String? {
    hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil
  }
}

extension String {
  fileprivate var inTable: String {
    replacingOccurrences(of: "|", with: "\\|").replacingOccurrences(of: "`", with: "'")
  }
}
