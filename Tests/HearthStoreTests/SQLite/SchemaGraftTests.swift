import Foundation
import HearthStore
import Testing

@Suite("A copy of a database with the list of tables of another one")
struct SchemaGraftTests {
  private let folder: TemporaryFolder
  private let source: String

  init() throws {
    folder = try TemporaryFolder()
    source = folder.file("source")
    let database = try make("source")
    try database.execute("INSERT INTO numbers VALUES (7)")
    database.close()
    // The list of tables, behind the header of the file.
    let handle = try #require(FileHandle(forWritingAtPath: source))
    try handle.seek(toOffset: 100)
    try handle.write(contentsOf: Data(repeating: 0xAB, count: 8_000))
    try handle.close()
  }

  private func make(_ name: String) throws -> Database {
    let database = try Database(.file(path: folder.file(name)))
    try database.execute("CREATE TABLE numbers (n INTEGER)")
    return database
  }

  @Test("has the rows of the first")
  func rows() throws {
    try SchemaGraft.copy(source, to: folder.file("copy"), schemaOf: make("template"))
    let options = Database.Options(isReadOnly: true)
    let copy = try Database(.file(path: folder.file("copy")), options: options)
    defer { copy.close() }
    #expect(try copy.firstRow("SELECT n FROM numbers") { try $0.int64(at: 0) } == 7)
  }

  @Test(
    "is not made while the list of tables is in the log of the other one",
    arguments: [StoreError.Kind.full, .unavailable])
  func log(failure: StoreError.Kind) throws {
    let template = try make("template")
    let reader = try Database(.file(path: folder.file("template")), options: Database.Options(isReadOnly: true))
    defer { reader.close() }
    try reader.readTransaction("Read template") {
      _ = try reader.firstRow("SELECT count(*) FROM numbers") { try $0.int64(at: 0) }
      if failure == .full {
        let full = StoreError(kind: .full, message: "the disk is full")
        template.injectFailure = { $0 == .statement("PRAGMA wal_checkpoint(TRUNCATE)") ? full : nil }
      }
      let error = #expect(throws: StoreError.self) {
        try SchemaGraft.copy(source, to: folder.file("copy"), schemaOf: template)
      }
      #expect(error?.kind == failure)
    }
    #expect(!FileManager.default.fileExists(atPath: folder.file("copy")))
  }
}
