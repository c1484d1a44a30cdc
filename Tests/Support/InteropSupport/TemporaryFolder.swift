package import Foundation

/// A folder that is gone after the test.
package struct TemporaryFolder: ~Copyable {
  package let url = FileManager.default.temporaryDirectory.appendingPathComponent("hearth-interop-\(UUID().uuidString)")

  package init() {}

  deinit {
    try? FileManager.default.removeItem(at: url)
  }
}
