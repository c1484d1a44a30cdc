import Foundation
import Synchronization
import TestSupport
import Testing

/// A file system of a few megabytes, gone when the test ends. Linux, as root.
final class SmallFileSystem: Sendable {
  let url: URL

  private let isMounted = Mutex(true)

  /// True if this machine can make one.
  fileprivate static let isPossible = Task {
    guard let one = try? await make(sizeBytes: 1 << 20) else { return false }
    await one.unmount()
    return true
  }

  private init(at url: URL) {
    self.url = url
  }

  static func make(sizeBytes: Int) async throws -> SmallFileSystem {
    #if os(Linux)
      let url = FileManager.default.temporaryDirectory.appendingPathComponent("hearth-small-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
      let arguments = ["mount", "-t", "tmpfs", "-o", "size=\(sizeBytes),mode=0700", "hearth-test", url.path]
      let output = try? await Programs.runInBackground(env, arguments)
      guard output?.status == 0 else {
        try? FileManager.default.removeItem(at: url)
        throw CocoaError(.fileWriteNoPermission)
      }
      return SmallFileSystem(at: url)
    #else
      throw CocoaError(.featureUnsupported)
    #endif
  }

  /// The last call of a test, which keeps no thread waiting.
  func unmount() async {
    guard takeMount() else { return }
    _ = try? await Programs.runInBackground(Self.env, unmounting)
    try? FileManager.default.removeItem(at: url)
  }

  deinit {
    // The test has failed.
    guard takeMount() else { return }
    _ = try? Programs.run(Self.env, unmounting)
    try? FileManager.default.removeItem(at: url)
  }

  private func takeMount() -> Bool {
    isMounted.withLock { isMounted in
      defer { isMounted = false }
      return isMounted
    }
  }

  private static let env = URL(fileURLWithPath: "/usr/bin/env")
  /// Lazily: also with files that are still open.
  private var unmounting: [String] { ["umount", "-l", url.path] }

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

extension Trait where Self == ConditionTrait {
  /// For a test that makes a ``SmallFileSystem``.
  static var mountsFileSystem: Self {
    .enabled("a file system cannot be mounted here (Linux, as root, with the right to mount)") {
      await SmallFileSystem.isPossible.value
    }
  }
}
