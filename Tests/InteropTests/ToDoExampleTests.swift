import Foundation
import HearthServer
import InteropSupport
import Logging
import TestSupport
import Testing

/// The program of `Examples/ToDo`, with a folder for each device.
@Suite("The to-do list for the terminal")
struct ToDoExampleTests {
  @Test(
    "edits that two devices have made offline to one item are both there after both have synchronised",
    .timeLimit(.minutes(2)))
  func mergesOfflineEdits() async throws {
    let server = try await EmbeddedServer.start(storage: .memory, logger: Self.quietLogger)
    let folder = TemporaryFolder()
    let phone = Device(name: "phone", folder: folder.url, port: server.port)
    let tablet = Device(name: "tablet", folder: folder.url, port: server.port)

    let added = try await phone.run("add", "Buy tea")
    #expect(added.hasPrefix("sent: add ") && added.hasSuffix(" Buy tea\n"), "\(added)")
    let item = try #require(added.split(separator: " ").dropFirst(2).first.map(String.init))
    #expect(try await tablet.run("list") == "\(item) [ ] Buy tea\n1 items\n")

    #expect(
      try await phone.run("edit", item, "--title", "Buy green tea", "--offline")
        == "saved: edit \(item) Buy green tea; `sync` sends it\n")
    #expect(
      try await tablet.run("done", item, "--offline") == "saved: done \(item) Buy tea; `sync` sends it\n")
    #expect(
      try await tablet.run("list", "--offline") == "\(item) [x] Buy tea +\n1 items, as this device knows them\n")
    let outbox = try await tablet.run("outbox", "--offline")
    #expect(
      outbox.hasPrefix("waits: update todos/\(item)") && outbox.hasSuffix(": done\n1 changes wait\n"), "\(outbox)")

    #expect(try await phone.run("sync") == "sent: edit \(item) Buy green tea\nin sync, 1 items\n")
    #expect(
      try await tablet.run("sync") == """
        sent: done \(item) Buy tea
        merged: \(item) Buy green tea: another device has changed title
        in sync, 1 items

        """)
    for device in [phone, tablet] {
      #expect(try await device.run("list") == "\(item) [x] Buy green tea\n1 items\n")
    }
    await server.shutdown()
  }

  @Test("without a backend everything but sync works, and sync says that it does not", .timeLimit(.minutes(2)))
  func worksWithoutBackend() async throws {
    let folder = TemporaryFolder()
    let device = Device(name: "phone", folder: folder.url, port: try Programs.freePort())
    let added = try await device.run("add", "Buy milk", "--offline")
    let item = try #require(added.split(separator: " ").dropFirst(2).first.map(String.init))
    _ = try await device.run("edit", item, "--note", "two litres", "--offline")
    #expect(
      try await device.run("list") == "\(item) [ ] Buy milk (two litres) +\n1 items, as this device knows them\n")
    let sync = try await device.run("sync", "--timeout", "1", status: 1)
    #expect(sync == "2 changes wait: the backend did not answer in time\n")
    let unknown = try await device.run("done", "nothing", "--offline", status: 64)
    #expect(unknown.contains("No item on this device has an id that begins with \"nothing\""))
    _ = try await device.run("remove", item, "--offline")
    #expect(try await device.run("list", "--offline") == "0 items, as this device knows them\n")
  }

  @Test(
    "an edit stays, whether another device deletes the item before or after it, and sync says what was given up",
    .timeLimit(.minutes(2)))
  func editStaysBeforeDeletion() async throws {
    let server = try await EmbeddedServer.start(storage: .memory, logger: Self.quietLogger)
    let folder = TemporaryFolder()
    let phone = Device(name: "phone", folder: folder.url, port: server.port)
    let tablet = Device(name: "tablet", folder: folder.url, port: server.port)
    let added = try await phone.run("add", "Buy tea")
    let item = try #require(added.split(separator: " ").dropFirst(2).first.map(String.init))
    _ = try await tablet.run("list")
    _ = try await phone.run("remove", item, "--offline")
    _ = try await tablet.run("edit", item, "--note", "green")
    let sync = try await phone.run("sync")
    #expect(
      sync == "given up: remove \(item) Buy tea: another device has changed the item in between\nin sync, 1 items\n")
    #expect(try await phone.run("list") == "\(item) [ ] Buy tea (green)\n1 items\n")

    _ = try await phone.run("done", item, "--offline")
    #expect(try await tablet.run("remove", item) == "sent: remove \(item) Buy tea\n")
    #expect(try await tablet.run("list") == "0 items\n")
    _ = try await phone.run("sync")
    #expect(try await tablet.run("list") == "\(item) [x] Buy tea (green)\n1 items\n")
    await server.shutdown()
  }

  private static let quietLogger = Logger(label: "to-do-example") { _ in SwiftLogNoOpLogHandler() }
}

/// A device: runs the program with a cache of its own.
private struct Device {
  let name: String
  let folder: URL
  let port: Int

  /// Runs a command and returns what it has written.
  func run(_ arguments: String..., status: Int32 = 0) async throws -> String {
    let output = try await Programs.runInBackground(
      Programs.product("ToDoExample"),
      arguments + ["--host", "127.0.0.1:\(port)", "--cache", folder.appendingPathComponent(name).path])
    #expect(output.status == status, "\(name): \(arguments): \(output.text)")
    return output.text
  }
}
