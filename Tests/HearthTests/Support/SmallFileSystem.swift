import Foundation

/// A file system of a few megabytes, gone when the test ends. Linux, as root.
final class SmallFileSystem: Sendable {
  let url: URL

  /// The reason why this machine can make none; nil if it can.
  static let obstacle: String? = {
    do {
      _ = try SmallFileSystem(sizeBytes: 1 << 20)
      return nil
    } catch {
      return "a file system cannot be mounted here (Linux, as root, with the right to mount): \(error)"
    }
  }()

  init(sizeBytes: Int) throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("hearth-small-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    do {
      try Self.run("mount", ["-t", "tmpfs", "-o", "size=\(sizeBytes),mode=0700", "hearth-test", url.path])
    } catch {
      try? FileManager.default.removeItem(at: url)
      throw error
    }
  }

  deinit {
    // Lazily: also with files that are still open.
    try? Self.run("umount", ["-l", url.path])
    try? FileManager.default.removeItem(at: url)
  }

  private static func run(_ program: String, _ arguments: [String]) throws {
    #if os(Linux)
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = [program] + arguments
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      try process.run()
      process.waitUntilExit()
      guard process.terminationStatus == 0 else { throw CocoaError(.fileWriteNoPermission) }
    #else
      throw CocoaError(.featureUnsupported)
    #endif
  }

  private var filler: URL { url.appendingPathComponent("filler") }

  /// Leaves not one byte free.
  func fill() throws {
    try Data().write(to: filler)
    let handle = try FileHandle(forWritingTo: filler)
    defer { try? handle.close() }
    for size in [65_536, 4_096, 512, 1] {
      let block = Data(repeating: 0, count: size)
      while (try? handle.write(contentsOf: block)) != nil {}
    }
  }

  /// Gives the space back.
  func makeSpace() throws {
    try FileManager.default.removeItem(at: filler)
  }
}
