// Packages made of the modules below Hearth, which need no gRPC, have no calls to check.
#if canImport(Hearth)
  import Foundation
  import Testing

  /// The messages that a client must send for a call, and the snapshots that it must make of watch messages, by the
  /// language-neutral files of googleapis/conformance-tests.
  ///
  /// The folder is `../shared/conformance`, or the one that HEARTH_CONFORMANCE names.
  @Suite(
    "ConformanceTests", ConformanceReport(),
    .enabled(
      if: Corpus.isPresent,
      "conformance: no folder \(Corpus.folder.path) (set \(Corpus.variable) to one with the files)"))
  struct ConformanceTests {
    @Test("the folder has files")
    func folder() {
      #expect(!Corpus.cases.isEmpty, "no .json files in \(Corpus.folder.path)")
    }

    @Test("a file's expectation is met", arguments: Corpus.cases)
    func conforms(_ test: ConformanceCase) throws {
      do {
        guard case .test(let kind, let body) = test.content else {
          if case .unreadable(let reason) = test.content { throw MalformedCase(reason) }
          return
        }
        if try LeftOut.reason(kind, body) != nil {
          ConformanceReport.record(.leftOut)
          return
        }
        let differences = try Self.differences(kind, body)
        ConformanceReport.record(differences.isEmpty ? .passed : .failed)
        for difference in differences { Issue.record("\(test.file): \(difference)") }
      } catch {
        ConformanceReport.record(.failed)
        Issue.record("\(test.file): \(error)")
      }
    }

    /// The differences from what the file expects.
    private static func differences(_ kind: ConformanceCase.Kind, _ body: JSON) throws -> [String] {
      switch kind {
      case .create, .set, .update, .updatePaths, .delete: try RequestCheck(body).write(kind)
      case .get: try RequestCheck(body).get()
      case .query: try RequestCheck(body).query()
      case .listen: try ListenCheck(body).differences()
      }
    }
  }
#endif
