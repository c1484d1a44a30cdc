import Foundation
import HearthStore

/// A folder that exists as long as this object does.
final class TemporaryFolder {
  let path: String

  init() throws {
    path = NSTemporaryDirectory() + "hearth-store-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  func file(_ name: String = "test.sqlite") -> String { "\(path)/\(name)" }
}

/// The kind of database that a contract test runs on; the same tests hold for both.
enum TestLocation: String, CaseIterable, Sendable {
  case file, memory

  func open(in folder: TemporaryFolder, options: Database.Options = .init()) throws -> Database {
    switch self {
    case .file: try Database(.file(path: folder.file()), options: options)
    case .memory: try Database(.memory, options: options)
    }
  }
}

func integers(_ sql: String, in database: Database) throws -> [Int64] {
  let statement = try database.prepare(sql)
  var result: [Int64] = []
  while try statement.step() { result.append(try statement.int64(at: 0)) }
  return result
}

func kind(of body: () throws -> Void) -> StoreError.Kind? {
  do {
    try body()
    return nil
  } catch {
    return (error as? StoreError)?.kind
  }
}
