import Foundation
import Testing

@Suite("The public API")
struct ApiSurfaceTests {
  @Test("every member of the table is used by code that compiles, and stands there once")
  func usesAreComplete() throws {
    let table = try ApiTable()
    #expect(table.uses.count > 300)
    for use in table.uses {
      #expect(!use.row.section.isEmpty, "\(use.file): \(use.row) stands under no section")
      #expect(!use.code.isEmpty, "\(use.file): nothing below \(use.row) uses it")
      #expect(use.code.allSatisfy { !$0.hasPrefix("//") }, "\(use.file): \(use.row) is only commented on")
    }
    let repeated = Dictionary(grouping: table.uses, by: \.row).filter { $0.value.count > 1 }.keys
    #expect(repeated.isEmpty)
  }

  @Test(
    "every promised member of the official API is in the table, and nothing else is",
    .enabled(if: OfficialSurface.isAvailable, "no file shared/docs/api-surface.md beside the project"))
  func nothingIsMissing() throws {
    let promised = OfficialSurface.rows(of: try String(contentsOfFile: OfficialSurface.path, encoding: .utf8))
    let answered = Set(try ApiTable().uses.map(\.row))
    let missing = promised.filter { !answered.contains($0) }
    let unknown = answered.subtracting(promised)
    print(
      "api surface: \(promised.count) members, \(promised.count - missing.count) answered, \(missing.count) missing")
    #expect(promised.count > 300, "the file \(OfficialSurface.path) is not in the format that is read here")
    #expect(missing.isEmpty, "not in Tests/ApiSurfaceTests/Uses: \(missing.map(\.description).joined(separator: "\n"))")
    #expect(unknown.isEmpty, "not in \(OfficialSurface.path): \(unknown.map(\.description).joined(separator: "\n"))")
  }

  @Test("a member without a use is noticed")
  func reading() {
    let table = ApiTable(
      text: """
        // section: Query

        func use(query: Query) {
          // row: var count: AggregateQuery
          //   { get }
          let _: AggregateQuery = query.count
          // row: func nothing()
        }
        """)
    #expect(table.uses.map(\.row.signature) == ["var count: AggregateQuery { get }", "func nothing()"])
    #expect(table.uses.map(\.code) == [["let _: AggregateQuery = query.count"], []])
    let official = OfficialSurface.rows(
      of: """
        ### Query — class
        - `var count: AggregateQuery { get }` [core] — A note.
        - `func soon()` [enterprise]
        - `func apple()` [apple-only] — Not [core].
        - `func both()` [seed] [core]
        """)
    #expect(official.map(\.signature) == ["var count: AggregateQuery { get }", "func both()"])
    #expect(official.allSatisfy { $0.section == "Query" })
  }

  @Test("the page docs/api.md says what the table says")
  func page() throws {
    let file = ApiTable.project.appendingPathComponent("docs/api.md")
    let page = try ApiTable().page
    if ProcessInfo.processInfo.environment["HEARTH_WRITE_API_PAGE"] != nil {
      try page.write(to: file, atomically: true, encoding: .utf8)
    }
    #expect(
      try String(contentsOf: file, encoding: .utf8) == page,
      "write it again: HEARTH_WRITE_API_PAGE=1 swift test --filter ApiSurfaceTests")
  }

  @Test("the Swift 5 target compiles every file that the Swift 6 target does")
  func bothModes() throws {
    for folder in ["Uses", "Samples"] {
      func names(_ target: String) throws -> [String] {
        let path = ApiTable.project.appendingPathComponent("Tests/\(target)/\(folder)").path
        return try FileManager.default.contentsOfDirectory(atPath: path).sorted()
      }
      #expect(try names("ApiSurfaceSwift5Tests") == names("ApiSurfaceTests"))
    }
  }
}
