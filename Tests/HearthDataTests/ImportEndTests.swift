import Foundation
import HearthServer
import TestSupport
import Testing

@testable import HearthData

@Suite("Imports that the backend ends", .timeLimit(.minutes(2)))
struct ImportEndTests {
  @Test("a call that is refused whatever it writes is one failure, and no document is blamed")
  func refusedCall() async throws {
    try await DataServer.with { server in
      try server.write(TransferTests.lines(0..<1200), to: "i.jsonl")
      let failures = FailureList()
      let backend = try DataServer.backend(port: server.server.port, project: "copy", token: "secret")
      var job = DataImport(path: server.path("i.jsonl"))
      job.onFailure = { failures.add($0) }
      let work = job
      let error = await #expect(throws: DataError.self) {
        try await work.run(backend, progress: DataProgress())
      }
      await backend.shutdown()
      #expect(failures.all.isEmpty, "\(failures.all)")
      #expect(
        error?.description.hasPrefix("Writing: INVALID_ARGUMENT: invalid jwt.") == true, "\(error?.description ?? "")")
      #expect(error?.description.contains("Without --token and HEARTH_TOKEN you call as the owner") == true)
    }
  }

  @Test("an import that a failure of the backend ends says how to go on")
  func advice() async throws {
    let server = try await DataServer()
    defer { try? FileManager.default.removeItem(atPath: server.folder) }
    try server.write(TransferTests.lines(0..<40_000), to: "i.jsonl")
    let (backend, file) = (try server.backend("copy"), server.path("i.jsonl"))
    let progress = DataProgress()
    let work = Task {
      var job = DataImport(path: file)
      job.parallelism = 1
      try await job.run(backend, progress: progress)
    }
    try await waitUntil { progress.current.documents > 500 }
    await server.server.stop()
    let error = await #expect(throws: DataError.self) { try await work.value }
    await backend.shutdown()
    #expect(
      error?.description.hasSuffix("Go on with the same command and --resume.") == true, "\(error?.description ?? "")")
  }
}
