import Foundation
import Testing

@testable import HearthRPC

@Suite("Files of a configuration")
final class BoundedFileTests {
  private let folder = NSTemporaryDirectory() + "hearth-file-" + UUID().uuidString

  init() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  private func write(_ text: String, to name: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
  }

  private func link(_ name: String, to target: String) throws {
    try? FileManager.default.removeItem(atPath: "\(folder)/\(name)")
    try FileManager.default.createSymbolicLink(atPath: "\(folder)/\(name)", withDestinationPath: target)
  }

  @Test("one is read if it is not too large")
  func bounded() throws {
    try write("12345", to: "a")
    #expect(try BoundedFile(path: "\(folder)/a", maximumBytes: 5).text() == "12345")
    let error = #expect(throws: BoundedFile.Failure.self) {
      _ = try BoundedFile(path: "\(folder)/a", maximumBytes: 4).contents()
    }
    #expect(error?.description == "has more than 4 bytes")
    let missing = #expect(throws: BoundedFile.Failure.self) {
      _ = try BoundedFile(path: "\(folder)/none").contents()
    }
    #expect(missing?.description == "cannot be read: No such file or directory")
    #expect(throws: BoundedFile.Failure.self) { _ = try BoundedFile(path: folder).contents() }
    try Data([0xFF, 0xFE]).write(to: URL(fileURLWithPath: "\(folder)/b"))
    #expect(throws: BoundedFile.Failure.self) { _ = try BoundedFile(path: "\(folder)/b").text() }
  }

  @Test("the stamp changes with the file behind links, as those of certbot and Kubernetes are changed")
  func links() throws {
    for (folder, text) in [("1", "first"), ("2", "second one")] {
      try FileManager.default.createDirectory(
        atPath: "\(self.folder)/\(folder)", withIntermediateDirectories: true)
      try write(text, to: "\(folder)/key")
    }
    try link("data", to: "1")
    try link("key", to: "data/key")
    let file = BoundedFile(path: "\(folder)/key")
    let before = file.stamp
    #expect(file.stamp == before)
    try link("data", to: "2")
    #expect(file.stamp != before)
    #expect(try file.text() == "second one")
  }

  @Test(
    "the stamp changes when a file becomes readable, also if it was not written since",
    .disabled(if: getuid() == 0, "root may read every file"))
  func permissions() throws {
    try write("1", to: "a")
    func allow(_ permissions: Int) throws {
      try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: "\(folder)/a")
    }
    try allow(0o000)
    let file = BoundedFile(path: "\(folder)/a")
    let before = file.stamp
    #expect(throws: BoundedFile.Failure.self) { _ = try file.text() }
    try allow(0o600)
    #expect(file.stamp != before)
  }
}
