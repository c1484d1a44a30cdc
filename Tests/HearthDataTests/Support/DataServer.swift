import Foundation
import HearthModel
import HearthServer
import HearthTransport
import Logging

@testable import HearthData

/// A server of this process and a folder, for one test.
final class DataServer: Sendable {
  let server: TestServer
  let folder = NSTemporaryDirectory() + "hearth-data-" + UUID().uuidString

  init() async throws {
    server = try await TestServer.start()
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  func path(_ name: String) -> String { folder + "/" + name }

  func backend(_ project: String = "demo") throws -> DataBackend {
    try Self.backend(port: server.port, project: project)
  }

  static func backend(port: Int, project: String, token: String? = nil) throws -> DataBackend {
    var options = ConnectionChoice.Options()
    options.token = token
    options.host = "127.0.0.1:\(port)"
    options.project = project
    let quiet = Logger(label: "hearth") { _ in SwiftLogNoOpLogHandler() }
    return try DataBackend(ConnectionChoice(options, environment: [:]), logger: quiet, pause: .milliseconds(5))
  }

  /// Runs a test with a server, and removes what it has left.
  static func with<Answer>(_ body: (DataServer) async throws -> Answer) async throws -> Answer {
    let server = try await DataServer()
    defer { try? FileManager.default.removeItem(atPath: server.folder) }
    do {
      let answer = try await body(server)
      await server.server.stop()
      return answer
    } catch {
      await server.server.stop()
      throw error
    }
  }

  // MARK: - Documents

  /// Writes documents and returns them by their paths.
  @discardableResult
  func fill(_ documents: [(path: String, fields: MapValue)], project: String = "demo") async throws
    -> [String: EncodedFields]
  {
    let backend = try backend(project)
    for start in stride(from: 0, to: documents.count, by: 400) {
      let writes = try documents[start..<min(start + 400, documents.count)].map {
        Mutation.set(try DocumentKey(parsing: $0.path), $0.fields)
      }
      _ = try await backend.transport.commit(writes)
    }
    await backend.shutdown()
    return Dictionary(uniqueKeysWithValues: documents.map { ($0.path, EncodedFields($0.fields)) })
  }

  /// All documents of a database by their paths.
  func contents(project: String = "demo") async throws -> [String: EncodedFields] {
    let backend = try backend(project)
    let documents = DocumentList()
    let query = Query(path: ResourcePath(), collectionGroup: "")
    _ = try await backend.transport.runQuery(query) { documents.add($0) }
    await backend.shutdown()
    return Dictionary(uniqueKeysWithValues: documents.all.map { ($0.key.canonicalString, $0.fields) })
  }

  // MARK: - Transfers

  @discardableResult
  func export(
    to name: String, project: String = "demo", _ change: (inout DataExport) -> Void = { _ in }
  ) async throws -> Int {
    let backend = try backend(project)
    var export = DataExport(destination: ExportDestination(path(name)))
    export.pageSize = 40
    change(&export)
    let result = await Result(catching: { [export] in try await export.run(backend, progress: DataProgress()) })
    await backend.shutdown()
    return try result.get()
  }

  @discardableResult
  func `import`(
    _ name: String, project: String = "copy", _ change: (inout DataImport) -> Void = { _ in }
  ) async throws -> DataProgress.State {
    let backend = try backend(project)
    var job = DataImport(path: path(name))
    change(&job)
    let progress = DataProgress()
    let result = await Result(catching: { [job] in try await job.run(backend, progress: progress) })
    await backend.shutdown()
    try result.get()
    return progress.current
  }

  func text(_ name: String) throws -> String { try String(contentsOfFile: path(name), encoding: .utf8) }

  func write(_ text: String, to name: String) throws {
    try text.write(toFile: path(name), atomically: true, encoding: .utf8)
  }
}

extension Result where Failure == any Error {
  init(catching body: () async throws -> Success) async {
    do {
      self = .success(try await body())
    } catch {
      self = .failure(error)
    }
  }
}
