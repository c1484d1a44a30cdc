import Foundation
import GRPCCore
import HearthModel
import HearthStore
import HearthTransport
import HearthWire
import Logging
import Synchronization
import TestSupport
import Testing

@testable import HearthRPC
@testable import HearthServer

@Suite("A server is closed to the outside by default")
struct ClosedByDefaultTests {
  // MARK: - Addresses

  @Test(
    "addresses that other machines reach are refused, and the way out is named",
    arguments: ["0.0.0.0", "::", "192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1", "128.0.0.1"])
  func openAddress(host: String) async throws {
    let error = await #expect(throws: ServerError.self) {
      _ = try await EmbeddedServer.start(host: host, storage: .memory, logger: ServerFixture.quietLogger)
    }
    #expect(error?.kind == .configuration)
    #expect(error?.message.contains(host) == true)
    #expect(error?.message.contains("--open-to-everyone") == true)
  }

  @Test("an address that is refused leaves no folder behind")
  func refusedAddressLeavesNothing() async throws {
    try await withTemporaryFolder { folder in
      await #expect(throws: ServerError.self) {
        _ = try await EmbeddedServer.start(
          host: "0.0.0.0", storage: .folder(folder), logger: ServerFixture.quietLogger)
      }
      #expect(!FileManager.default.fileExists(atPath: folder))
    }
  }

  @Test("the flag opens the server, and a warning says what that means")
  func openToEveryone() async throws {
    let log = LogRecorder()
    let server = try await EmbeddedServer.start(host: "0.0.0.0", storage: .memory, logger: log.logger) {
      $0.permissions = [.openToEveryone]
    }
    await server.shutdown()
    #expect(log.lines.contains { $0.hasPrefix("warning ") && $0.contains("read, write and delete everything") })
  }

  @Test(
    "a server that tells callers apart demands a certificate, or a proxy that has one, where other machines reach it")
  func lockedAddress() async throws {
    let error = await #expect(throws: ServerError.self) {
      _ = try await EmbeddedServer.start(host: "0.0.0.0", storage: .memory, logger: ServerFixture.quietLogger) {
        $0.callers = .locked(NamedCallers())
      }
    }
    #expect(error?.kind == .configuration && error?.message.contains("--tls-certificate") == true)
    let log = LogRecorder()
    let server = try await EmbeddedServer.start(host: "0.0.0.0", storage: .memory, logger: log.logger) {
      $0.callers = .locked(NamedCallers())
      $0.permissions = [.withoutTLS]
    }
    await server.shutdown()
    #expect(!log.lines.contains { $0.hasPrefix("warning ") })
  }

  @Test("loopback addresses need no flag and bring no warning", arguments: ["127.0.0.1", "localhost", "127.1.2.3"])
  func loopback(host: String) async throws {
    let log = LogRecorder()
    let server = try await EmbeddedServer.start(host: host, storage: .memory, logger: log.logger)
    await server.shutdown()
    #expect(!log.lines.contains { $0.hasPrefix("warning ") })
  }

  @Test("which addresses are this machine's alone")
  func reach() {
    for host in ["127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "0:0:0:0:0:0:0:1"] {
      #expect(AddressReach(numericHost: host) == .thisMachine, "\(host)")
    }
    for host in ["0.0.0.0", "::", "10.0.0.1", "126.255.255.255", "fe80::1", "::2", "::ffff:10.0.0.1"] {
      #expect(AddressReach(numericHost: host) == .otherMachines, "\(host)")
    }
    for host in ["", "example.com", "127.0.0", "localhost"] {
      #expect(AddressReach(numericHost: host) == nil, "\(host)")
    }
  }

  // MARK: - Permissions

  @Test("only the user who runs the server can read the data folder and its files")
  func permissions() async throws {
    try await withTemporaryFolder { folder in
      try await ServerFixture.withServer(storage: .folder(folder)) { fixture in
        try await fixture.set("rooms/eros", ["n": 1.value])
        #expect(try permissions(of: folder) == 0o700)
        let files = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        let name = "test.%28default%29.sqlite"
        #expect(files == ["hearth.lock", name, "\(name)-shm", "\(name)-wal"])
        for file in files { #expect(try permissions(of: "\(folder)/\(file)") == 0o600, "\(file)") }
      }
    }
  }

  @Test("a folder and files that were open to others are closed; a folder with other content is left as it is")
  func earlierPermissions() async throws {
    try await withTemporaryFolder { folder in
      try await ServerFixture.withServer(storage: .folder(folder)) { try await $0.set("rooms/eros", [:]) }
      let name = "\(folder)/test.%28default%29.sqlite"
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder)
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: name)
      try await ServerFixture.withServer(storage: .folder(folder)) { fixture in
        _ = try await fixture.get("rooms/eros")
        #expect(try permissions(of: folder) == 0o700)
        #expect(try permissions(of: name) == 0o600)
      }
    }
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
      try Data().write(to: URL(fileURLWithPath: "\(folder)/somebody.txt"))
      try await ServerFixture.withServer(storage: .folder(folder)) { fixture in
        try await fixture.set("rooms/eros", [:])
        #expect(try permissions(of: folder) == 0o755)
        #expect(try permissions(of: "\(folder)/test.%28default%29.sqlite") == 0o600)
      }
    }
  }

  private func permissions(of path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
  }

  // MARK: - Logs

  @Test("what clients send stays on its line of the log and cannot be taken for anything else")
  func escapedLogs() async throws {
    let log = LogRecorder()
    let server = try await EmbeddedServer.start(storage: .memory, logger: log.logger)
    try await ServerFixture.withClient(of: server) { fixture in
      var request = Google_Firestore_V1_GetDocumentRequest()
      request.name = "projects/a\nerror forged=\"yes\"\u{1b}[2J\u{202e}/databases/(default)/documents/rooms/eros"
      await #expect(throws: RPCError.self) {
        let _: Google_Firestore_V1_Document = try await fixture.unary(Method.GetDocument.descriptor, request)
      }
      var commit = Google_Firestore_V1_CommitRequest()
      commit.database = "projects/b\nerror forged=\"yes\"/databases/(default)"
      let translator = WireTranslator(database: try DatabaseID(resourceName: commit.database))
      commit.writes = [translator.encode(.set(key("a/b"), [:]))]
      let refused = commit
      await #expect(throws: RPCError.self) {
        let _: Google_Firestore_V1_CommitResponse = try await fixture.unary(Method.Commit.descriptor, refused)
      }
    }
    await server.shutdown()
    let lines = log.lines
    #expect(lines.contains { $0.contains("a\\u{a}error forged=\"yes\"\\u{1b}[2J\\u{202e}") })
    #expect(lines.contains { $0.contains("b\\u{a}error forged=\"yes\"") })
    #expect(!lines.contains { $0.contains("\n") || $0.contains("\u{1b}") || $0.contains("\u{202e}") })
  }

  @Test("a text that a client made long is cut in the log")
  func longTexts() {
    let value = Logger.MetadataValue.escaped(String(repeating: "a", count: 1_000_000))
    #expect("\(value)".count == 401)
  }

  // MARK: - Databases that do not exist

  @Test("reads, listens and transactions that write nothing create nothing on disk")
  func readsCreateNothing() async throws {
    try await withTemporaryFolder { folder in
      try await ServerFixture.withServer(storage: .folder(folder)) { fixture in
        #expect(await failure { try await fixture.get("rooms/eros") }?.code == .notFound)
        #expect(try await fixture.ids(Query(path: path("rooms"))).isEmpty)
        var begin = Google_Firestore_V1_BeginTransactionRequest()
        begin.database = ServerFixture.database.resourceName
        let transaction: Google_Firestore_V1_BeginTransactionResponse = try await fixture.unary(
          Method.BeginTransaction.descriptor, begin)
        try await fixture.commit([], transaction: transaction.transaction)
        let files = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(files == ["hearth.lock"])
        #expect(
          await failure {
            try await fixture.commit([.patch(key("rooms/eros"), ["n": 1.value], mask: FieldMask([field("n")]))])
          }?.code == .notFound)
        let filesAfterFailure = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(filesAfterFailure == ["hearth.lock"], "a write that fails creates nothing either")
        try await fixture.commit([.delete(key("rooms/eros")), .delete(key("rooms/ada"))])
        let filesAfterDeletes = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(filesAfterDeletes == ["hearth.lock"], "nor does a delete of what is not there")

        try await fixture.set("rooms/eros", ["n": 1.value])
        #expect(try await fixture.get("rooms/eros").fields["n"]?.integerValue == 1)
      }
      try await ServerFixture.withServer(storage: .folder(folder)) { fixture in
        let document = try await fixture.get("rooms/eros")
        #expect(document.fields["n"]?.integerValue == 1)
      }
    }
  }

  @Test("a listener and a transaction from before the first write go on with it", arguments: [true, false])
  func firstWrite(onDisk: Bool) async throws {
    try await withTemporaryFolder { folder in
      try await ServerFixture.withServer(storage: onDisk ? .folder(folder) : .memory) { fixture in
        var begin = Google_Firestore_V1_BeginTransactionRequest()
        begin.database = ServerFixture.database.resourceName
        let begun: Google_Firestore_V1_BeginTransactionResponse = try await fixture.unary(
          Method.BeginTransaction.descriptor, begin)
        let hasListened = Mutex(false)
        var add = Google_Firestore_V1_ListenRequest()
        add.database = ServerFixture.database.resourceName
        add.addTarget.targetID = 2
        add.addTarget.documents.documents = [name("rooms/eros")]
        try await fixture.listen([add]) { response in
          if response.targetChange.targetChangeType == .current {
            hasListened.withLock { $0 = true }
            try await fixture.commit([.set(key("rooms/eros"), ["n": 1.value])], transaction: begun.transaction)
          }
          return response.documentChange.document.isEmpty
        }
        #expect(hasListened.withLock { $0 })
        #expect(try await fixture.get("rooms/eros").fields["n"]?.integerValue == 1)
        #expect(onDisk == FileManager.default.fileExists(atPath: "\(folder)/test.%28default%29.sqlite"))
      }
    }
  }

  @Test("a database that cannot be created refuses the write and stays readable; a later write succeeds")
  func failedCreation() async throws {
    try await withTemporaryFolder { folder in
      try await ServerFixture.withServer(storage: .folder(folder)) { fixture in
        let file = "\(folder)/test.%28default%29.sqlite"
        #expect(await failure { try await fixture.get("rooms/eros") }?.code == .notFound)
        // Something else has taken the name in the meantime.
        try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: false)
        #expect(await failure { try await fixture.set("rooms/eros") }?.code == .unavailable)
        #expect(await failure { try await fixture.get("rooms/eros") }?.code == .notFound)
        try FileManager.default.removeItem(atPath: file)
        try await fixture.set("rooms/eros", ["n": 1.value])
        #expect(try await fixture.get("rooms/eros").fields["n"]?.integerValue == 1)
      }
    }
  }

  @Test("names that were only read do not use up the databases that a server can have")
  func manyNames() async throws {
    var limits = DatabaseLimits()
    limits.databases = 100
    let backend = try EmbeddedBackend(
      location: .memory, limits: limits, clock: .system, logger: ServerFixture.quietLogger)
    for number in 0..<150 {
      _ = try await backend.database(DatabaseID(projectID: "typo-\(number)")).storage.currentVersion()
    }
    let database = try await backend.database(ServerFixture.database)
    _ = try await database.storage.commit(CommitRequest(mutations: [.set(key("a/b"), [:])]))
    #expect(try await backend.database(ServerFixture.database) === database)
    await backend.close()
  }
}
