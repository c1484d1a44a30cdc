import Foundation

/// Runs `body` with a folder that is removed afterwards.
func withTemporaryFolder<R>(_ body: (String) async throws -> R) async throws -> R {
  let folder = NSTemporaryDirectory() + "hearth-tokens-" + UUID().uuidString
  try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(atPath: folder) }
  return try await body(folder)
}
