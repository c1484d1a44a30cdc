import Foundation
import Testing

@testable import HearthCommand

@Suite("The word that starts the program")
struct ProgramWordTests {
  @Test("is its name if a shell finds this program by it, also by a link, and its path otherwise")
  func word() throws {
    let manager = FileManager.default
    let folder = manager.temporaryDirectory.appendingPathComponent("hearth-word-\(UUID().uuidString)").path
    defer { try? manager.removeItem(atPath: folder) }
    let (built, other, links) = (folder + "/a build", folder + "/other", folder + "/links")
    for path in [built, other] {
      try manager.createDirectory(atPath: path, withIntermediateDirectories: true)
      try Data().write(to: URL(fileURLWithPath: path + "/hearth"))
      try manager.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path + "/hearth")
    }
    try manager.createDirectory(atPath: links, withIntermediateDirectories: true)
    try manager.createSymbolicLink(atPath: links + "/hearth", withDestinationPath: built + "/hearth")
    let program = URL(fileURLWithPath: built + "/hearth")
    func shown(_ searchPath: String?) -> String { ProgramWord.shown(executable: program, searchPath: searchPath) }
    #expect(shown("/none:\(built)") == "hearth" && shown("\(links):\(other)") == "hearth")
    for path in [nil, "", "/none", "\(other):\(built)"] {
      #expect(shown(path) == "'\(built)/hearth'")
    }
  }
}
