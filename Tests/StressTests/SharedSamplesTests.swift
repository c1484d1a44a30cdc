import Foundation
import Testing

/// The samples of the documentation's pages as they are printed there. They lie next to the project on machines that develop it.
enum SharedSamples {
  static let project = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  static let path =
    ProcessInfo.processInfo.environment["HEARTH_SEED_SAMPLES"]
    ?? project.deletingLastPathComponent().appendingPathComponent("shared/docs/seed-samples.swift").path
  static let isAvailable =
    ProcessInfo.processInfo.environment["HEARTH_SEED_SAMPLES"] != nil || FileManager.default.fileExists(atPath: path)

  /// The folder of the build's modules, next to the test program.
  static var modules: URL? {
    let candidates = CommandLine.arguments.map { URL(fileURLWithPath: $0).deletingLastPathComponent() }
    return candidates.map { $0.appendingPathComponent("Modules") }
      .first { FileManager.default.fileExists(atPath: $0.appendingPathComponent("Hearth.swiftmodule").path) }
  }

  /// The C modules that the build's modules import: maps that the build wrote, and those of the packages.
  static var moduleMaps: [String] {
    guard let folder = modules?.deletingLastPathComponent().resolvingSymlinksInPath() else { return [] }
    let files = FileManager.default
    func folders(in folder: URL) -> [URL] {
      ((try? files.contentsOfDirectory(atPath: folder.path)) ?? []).map { folder.appendingPathComponent($0) }
    }
    let checkouts = folder.deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("checkouts")
    let written = folders(in: folder).filter { $0.pathExtension == "build" && !$0.path.hasSuffix("-tool.build") }
    let packaged = folders(in: checkouts).flatMap { folders(in: $0.appendingPathComponent("Sources")) }
      .map { $0.appendingPathComponent("include") }
    return (written + packaged).map { $0.appendingPathComponent("module.modulemap").path }.filter(files.fileExists)
  }

  /// The compiler of the search path.
  static var compiler: String? {
    (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map { "\($0)/swiftc" }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }
}

@Suite(
  "Printed samples",
  .enabled(if: SharedSamples.isAvailable, "no file shared/docs/seed-samples.swift beside the project"))
struct SharedSamplesTests {
  @Test(
    "compile unmodified but for the import",
    .enabled(
      if: SharedSamples.modules != nil && SharedSamples.compiler != nil,
      "no swiftc in the search path, or no modules beside the test program"),
    arguments: ["5", "6"])
  func typecheck(languageMode: String) async throws {
    let official = "import FirebaseFirestore"
    let text = try String(contentsOfFile: SharedSamples.path, encoding: .utf8)
    #expect(text.contains(official))
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("samples-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("samples.swift")
    try text.replacingOccurrences(of: official, with: "import Hearth").write(
      to: file, atomically: true, encoding: .utf8)

    let compiler = URL(fileURLWithPath: try #require(SharedSamples.compiler))
    let modules = try #require(SharedSamples.modules).path
    let arguments =
      [
        "-typecheck", "-swift-version", languageMode, "-I", modules,
        "-I", SharedSamples.project.appendingPathComponent("Sources/CSQLite").path, "-module-cache-path", folder.path,
        file.path,
      ] + SharedSamples.moduleMaps.flatMap { ["-Xcc", "-fmodule-map-file=\($0)"] }
    let (status, messages) = try await run(compiler, arguments)
    #expect(status == 0, "\(messages)")
  }

  /// Runs a program to its end on a thread of its own: the compiler takes seconds, and tests that wait for one another share few threads.
  private func run(_ program: URL, _ arguments: [String]) async throws -> (status: Int32, text: String) {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(
          with: Result {
            let process = Process()
            process.executableURL = program
            process.arguments = arguments
            let output = Pipe()
            process.standardError = output
            process.standardOutput = output
            try process.run()
            let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            return (process.terminationStatus, text)
          })
      }
    }
  }
}
