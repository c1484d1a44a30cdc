import Foundation
import Testing

/// One test of a file.
struct ConformanceCase: Sendable, CustomTestStringConvertible {
  enum Kind: String, CaseIterable, Sendable {
    case create, set, update, updatePaths, delete, get, query, listen
  }

  /// A test, or the reason why the file cannot be read.
  enum Content: Sendable {
    case test(Kind, JSON)
    case unreadable(String)
  }

  var file: String
  /// The description in the file, and the number of the test in it if it holds several.
  var title: String
  var content: Content

  var testDescription: String { "\(file): \(title)" }
}

/// The language-neutral test files of googleapis/conformance-tests (`firestore/v1`).
enum Corpus {
  /// The variable that names another folder of such files.
  static let variable = "HEARTH_CONFORMANCE"

  static let namedFolder = ProcessInfo.processInfo.environment[variable].flatMap { $0.isEmpty ? nil : $0 }

  /// The named folder, or `shared/conformance` next to the project.
  static let folder: URL = {
    if let namedFolder { return URL(fileURLWithPath: namedFolder, isDirectory: true) }
    let project = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    return project.deletingLastPathComponent().appendingPathComponent("shared/conformance", isDirectory: true)
  }()

  /// A folder that was named has to be there; the default one need not.
  static let isPresent = namedFolder != nil || FileManager.default.fileExists(atPath: folder.path)

  static let cases: [ConformanceCase] = {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return names.filter { $0.hasSuffix(".json") }.sorted().flatMap(cases(in:))
  }()

  private static func cases(in file: String) -> [ConformanceCase] {
    do {
      let tests = try JSON(parsing: Data(contentsOf: folder.appendingPathComponent(file))).required("tests").elements
      guard !tests.isEmpty else { throw MalformedCase("\"tests\" has no elements") }
      return tests.enumerated().map { index, test in
        let number = tests.count > 1 ? " (\(index + 1) of \(tests.count))" : ""
        let title = (test["description"]?.string ?? "without a description") + number
        return ConformanceCase(file: file, title: title, content: content(of: test))
      }
    } catch {
      return [ConformanceCase(file: file, title: "cannot be read", content: .unreadable("\(error)"))]
    }
  }

  private static func content(of test: JSON) -> ConformanceCase.Content {
    for kind in ConformanceCase.Kind.allCases {
      if let body = test[kind.rawValue] { return .test(kind, body) }
    }
    return .unreadable("it is of none of the kinds \(ConformanceCase.Kind.allCases.map(\.rawValue))")
  }
}
