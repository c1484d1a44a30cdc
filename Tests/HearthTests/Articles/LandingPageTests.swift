import Foundation
import Hearth
import Testing

/// The code of the catalogue's landing page.
private enum Landing {
  static func notes(_ print: Printout) -> any ListenerRegistration {
    let db = Firestore.firestore()
    let notes = db.collection("notes")
    let listener = notes.order(by: "text").addSnapshotListener { snapshot, _ in
      print("\(snapshot?.count ?? 0) notes")
    }
    notes.document("milk").setData(["text": "Buy milk", "at": FieldValue.serverTimestamp()], completion: nil)
    return listener
  }
}

extension DefaultAppArticles {
  @Suite("The landing page")
  struct LandingPageTests {
    @Test("shows code that is compiled, and whose listener hears the write without a backend")
    func code() async throws {
      #expect(try Article("Hearth").codeNotCompiled(in: #filePath) == [])
      FirebaseApp.configure(options: FirebaseOptions(projectID: "demo-notes"))
      let db = Firestore.firestore()
      let settings = db.settings
      settings.host = "127.0.0.1:1"
      settings.isSSLEnabled = false
      settings.cacheSettings = MemoryCacheSettings()
      db.settings = settings
      let print = Printout()
      let listener = Landing.notes(print)
      var count = 1
      while try await print.lines(count).last != "1 notes" { count += 1 }
      listener.remove()
      await FirebaseApp.app()?.delete()
    }

    @Test("lists every public symbol and every article")
    func topics() throws {
      let page = try Article.text("Sources/Hearth/Hearth.docc/Hearth.md")
      let topics = try #require(page.range(of: "\n## Topics\n")).upperBound
      let listed = Article.lines(String(page[topics...])).filter { $0.hasPrefix("- ") }.map { String($0.dropFirst(2)) }
      #expect(Set(listed).count == listed.count)
      for name in try publicSymbols() { #expect(listed.contains("``\(name)``"), "\(name) is not listed") }
      for name in try articles() { #expect(listed.contains("<doc:\(name)>"), "\(name) is not listed") }
    }

    @Test("is found from the README, with every article")
    func readme() throws {
      let readme = try Article.text("README.md")
      #expect(readme.contains("swift package generate-documentation --target Hearth"))
      for name in try articles() { #expect(readme.contains("(Sources/Hearth/Hearth.docc/\(name).md)"), "\(name)") }
    }

    private func articles() throws -> [String] {
      try FileManager.default.contentsOfDirectory(
        atPath: Article.root.appendingPathComponent("Sources/Hearth/Hearth.docc").path
      )
      .filter { $0.hasSuffix(".md") && $0 != "Hearth.md" }.map { String($0.dropLast(3)) }
    }

    /// The names that public declarations outside of other ones introduce, which begin a line.
    private func publicSymbols() throws -> Set<String> {
      let folder = Article.root.appendingPathComponent("Sources/Hearth")
      let declaration =
        /^(?:@\w+(?:\([^)]*\))? )*(?:public|open) (?:final )?(?:class|struct|enum|protocol|typealias|let|func) (\w+)/
      var names: Set<String> = []
      for case let path as String in try #require(FileManager.default.enumerator(atPath: folder.path))
      where path.hasSuffix(".swift") {
        let text = try String(contentsOf: folder.appendingPathComponent(path), encoding: .utf8)
        for line in text.split(separator: "\n") {
          if let match = try declaration.firstMatch(in: line) { names.insert(String(match.output.1)) }
        }
      }
      #expect(names.count > 70)
      return names
    }
  }
}
