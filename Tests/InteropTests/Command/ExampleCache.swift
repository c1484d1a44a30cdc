#if os(Linux)
  import Foundation
  import InteropSupport
  import TestSupport
  import Testing

  /// A base folder with the cache of the example, which holds two pending writes of the signed-out user and nothing of a backend.
  final class ExampleCache {
    let folder = TemporaryFolder()

    var path: String { folder.url.path }
    var cache: String { path + "/hearth/__FIRAPP_DEFAULT/demo-notes/(default)" }

    init() async throws {
      let run = try await Programs.runInBackground(
        Programs.product("NotesExample"), [], environment: ["XDG_DATA_HOME": folder.url.path])
      #expect(run.status == 0, "\(run.text)")
    }

    func hearth(_ arguments: [String]) async throws -> Programs.Output {
      try await Programs.runInBackground(
        Programs.product("hearth"), arguments, environment: ["XDG_DATA_HOME": path])
    }

    func hearth(_ arguments: String...) async throws -> Programs.Output { try await hearth(arguments) }
  }
#endif
