import Foundation
import HearthCache
import HearthModel
import HearthStore
import HearthSync
import Synchronization
import Testing

@testable import Hearth

/// A suspended process must not hold the lock of its cache folder, and must notice when another process has had it.
@Suite("A suspended process", .timeLimit(.minutes(1)))
struct SuspensionTests {
  let folder: TemporaryFolder
  let runtime: ClientRuntime

  init() throws {
    folder = try TemporaryFolder()
    runtime = ClientRuntime(try Self.configuration(folder.url))
    runtime.setNetworkEnabled(false) { _ in }
  }

  static func configuration(_ folder: URL, _ sharing: CacheSharing = .alone) throws -> ClientConfiguration {
    ClientConfiguration(
      databaseID: DatabaseID(projectID: "demo"), endpoint: try Endpoint(host: "127.0.0.1:1", usesTLS: false),
      cache: .file(folder: folder.path, sizeBytes: -1), cacheSharing: sharing, callbackQueue: .global())
  }

  /// A client of the same folder, by another path to it.
  func otherProcess(_ sharing: CacheSharing = .alone) throws -> ClientRuntime {
    ClientRuntime(
      try Self.configuration(folder.url.appendingPathComponent("../\(folder.url.lastPathComponent)"), sharing))
  }

  func suspend(_ client: ClientRuntime? = nil) async {
    let client = client ?? runtime
    await withCheckedContinuation { continuation in client.post(.suspend { continuation.resume() }) }
  }

  func write(_ path: String) throws {
    runtime.write([.set(try DocumentKey(parsing: path), ["n": .integer(1)])], nil)
  }

  func pendingCount() async throws -> Int {
    let outcome = Outcome<[MutationBatch]>()
    runtime.pendingWrites { outcome.resolve($0.map(\.batches).mapError { $0 }) }
    return try await outcome.value().count
  }

  func stop() async {
    await withCheckedContinuation { continuation in runtime.stop { _ in continuation.resume() } }
  }

  @Test("gives the folder back, and goes on with what was asked in between when nobody else had it")
  func goesOn() async throws {
    try write("a/before")
    let snapshots = Recorder<Int?>()
    let query = HearthModel.Query(path: try ResourcePath(parsing: "a"))
    let handle = runtime.listen(query, options: ListenOptions(), on: nil) { event in
      snapshots.record((try? event.get())?.documents.count)
    }
    #expect(try await snapshots.next() == 1)
    await suspend()
    // Only another process could see a difference: the descriptor is closed, and the number in the file is still this client's.
    let lockFile = folder.url.appendingPathComponent("cache.lock")
    let descriptor = open(lockFile.path, O_RDWR)
    #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
    close(descriptor)
    try write("a/between")
    #expect(snapshots.events.count == 1)
    runtime.post(.resume)
    #expect(try await snapshots.next() == 2)
    #expect(try await pendingCount() == 2)
    handle.remove()
    await stop()
  }

  @Test("runs the queries and readings again that had to give the file back")
  func backgroundReadings() async throws {
    var configuration = try Self.configuration(folder.url.appendingPathComponent("other"))
    configuration.backgroundQueryLimits = BackgroundQueryLimits(documentsOnLoop: -1, partsPerScan: 1)
    let queue = DispatchQueue(label: "background")
    configuration.backgroundQueue = queue
    let client = ClientRuntime(configuration)
    client.setNetworkEnabled(false) { _ in }
    client.write([.set(try DocumentKey(parsing: "a/b"), [:])], nil)
    let query = HearthModel.Query(path: try ResourcePath(parsing: "a"))
    let (snapshots, reads, sizes) = (Recorder<Int?>(), Recorder<Int?>(), Recorder<Int64?>())
    queue.suspend()
    let handle = client.listen(query, options: ListenOptions(), on: nil) { event in
      snapshots.record((try? event.get())?.documents.count)
    }
    client.readQuery(query) { reads.record((try? $0.get())?.documents.count) }
    client.measureCache { sizes.record((try? $0.get())?.fileBytes) }
    await suspend(client)
    queue.resume()
    queue.sync {}
    #expect(snapshots.events.isEmpty && reads.events.isEmpty && sizes.events.isEmpty)
    client.post(.resume)
    #expect(try await snapshots.next() == 1)
    #expect(try await reads.next() == 1)
    #expect(try #require(try await sizes.next()) > 0)
    handle.remove()
    await withCheckedContinuation { continuation in client.stop { _ in continuation.resume() } }
  }

  @Test("ends its listeners when another process had the folder, and starts again at the next call")
  func takenByAnother() async throws {
    try write("a/before")
    let snapshots = Recorder<Result<Int, NSError>>()
    let query = HearthModel.Query(path: try ResourcePath(parsing: "a"))
    let handle = runtime.listen(query, options: ListenOptions(), on: nil) { event in
      snapshots.record(event.map { $0.documents.count })
    }
    _ = try await snapshots.next()
    await suspend()
    let other = try otherProcess()
    other.setNetworkEnabled(false) { _ in }
    let outcome = Outcome<[MutationBatch]>()
    other.pendingWrites { outcome.resolve($0.map(\.batches).mapError { $0 }) }
    #expect(try await outcome.value().count == 1)
    runtime.post(.resume)
    guard case .failure(let error) = try await snapshots.next() else {
      Issue.record("the listener was not ended")
      return
    }
    #expect(error.code == FirestoreErrorCode.failedPrecondition.rawValue)
    let refused = await thrown { _ = try await pendingCount() }
    #expect(refused?.code == FirestoreErrorCode.failedPrecondition.rawValue)
    await withCheckedContinuation { continuation in other.stop { _ in continuation.resume() } }
    #expect(try await pendingCount() == 1)
    handle.remove()
    await stop()
  }

  @Test("goes on calling a listener for snapshots in sync when it runs again after another process had the folder")
  func listenerForSync() async throws {
    #expect(try await pendingCount() == 0)
    let calls = Recorder<Void>()
    let handle = runtime.addSnapshotsInSyncListener { calls.record(()) }
    try await calls.next()
    await suspend()
    let other = try otherProcess()
    other.setNetworkEnabled(false) { _ in }
    let opened = Outcome<[MutationBatch]>()
    other.pendingWrites { opened.resolve($0.map(\.batches).mapError { $0 }) }
    #expect(try await opened.value().isEmpty)
    runtime.post(.resume)
    #expect(await thrown { _ = try await pendingCount() }?.code == FirestoreErrorCode.failedPrecondition.rawValue)
    await withCheckedContinuation { continuation in other.stop { _ in continuation.resume() } }
    #expect(try await pendingCount() == 0)
    try await calls.next()
    handle.remove()
    await stop()
  }

  @Test("does not use the folder that another process had and left either, until it is reopened")
  func takenAndLeft() async throws {
    try write("a/before")
    #expect(try await pendingCount() == 1)
    await suspend()
    let other = try otherProcess()
    other.write([.set(try DocumentKey(parsing: "a/other"), [:])], nil)
    await withCheckedContinuation { continuation in other.stop { _ in continuation.resume() } }
    let held = Outcome<Document>()
    runtime.readDocument(try DocumentKey(parsing: "a/other")) { held.resolve($0.mapError { $0 }) }
    runtime.post(.resume)
    #expect(try await held.value().isFound)
    #expect(try await pendingCount() == 2)
    await stop()
  }

  @Test(
    "that shares its cache lets others use it, shows afterwards what they have written, and hears of the next write")
  func sharing() async throws {
    await stop()
    let client = ClientRuntime(try Self.configuration(folder.url, .shared))
    client.setNetworkEnabled(false) { _ in }
    client.write([.set(try DocumentKey(parsing: "a/before"), [:])], nil)
    let snapshots = Recorder<Int?>()
    let query = HearthModel.Query(path: try ResourcePath(parsing: "a"))
    let handle = client.listen(query, options: ListenOptions(), on: nil) { event in
      snapshots.record((try? event.get())?.documents.count)
    }
    #expect(try await snapshots.next() == 1)
    await suspend(client)

    let other = try otherProcess(.shared)
    other.setNetworkEnabled(false) { _ in }
    other.write([.set(try DocumentKey(parsing: "a/between"), [:])], nil)
    let pending = Outcome<[MutationBatch]>()
    other.pendingWrites { pending.resolve($0.map(\.batches).mapError { $0 }) }
    #expect(try await pending.value().count == 2)
    #expect(snapshots.events.count == 1)
    client.post(.resume)
    #expect(try await snapshots.next() == 2)
    other.write([.set(try DocumentKey(parsing: "a/after"), [:])], nil)
    #expect(try await snapshots.next() == 3)
    handle.remove()
    await withCheckedContinuation { continuation in other.stop { _ in continuation.resume() } }
    await withCheckedContinuation { continuation in client.stop { _ in continuation.resume() } }
  }

  @Test("reads nothing from a damaged file that another process has replaced by a recovered one")
  func recoveredByAnother() async throws {
    await stop()
    let client = ClientRuntime(try Self.configuration(folder.url, .shared))
    client.setNetworkEnabled(false) { _ in }
    let before = Outcome<Void>()
    client.write([.set(try DocumentKey(parsing: "a/before"), [:])], nil)
    client.readDocument(try DocumentKey(parsing: "a/before")) { before.resolve($0.map { _ in () }.mapError { $0 }) }
    try await before.value()
    await suspend(client)
    try Data("a page".utf8).write(to: folder.url.appendingPathComponent("cache.sqlite.damaged"))
    let other = try otherProcess(.shared)
    other.setNetworkEnabled(false) { _ in }
    other.write([.set(try DocumentKey(parsing: "a/other"), [:])], nil)
    await withCheckedContinuation { continuation in other.stop { _ in continuation.resume() } }
    #expect(FileManager.default.fileExists(atPath: folder.url.appendingPathComponent("cache.sqlite.corrupt").path))
    let held = Outcome<Document>()
    client.readDocument(try DocumentKey(parsing: "a/other")) { held.resolve($0.mapError { $0 }) }
    client.post(.resume)
    #expect(try await held.value().isFound)
    await withCheckedContinuation { continuation in client.stop { _ in continuation.resume() } }
  }

  @Test("does not call a write lost that another process may have sent before the file was damaged")
  func sentByAnother() async throws {
    await stop()
    func end(_ client: ClientRuntime) async {
      await withCheckedContinuation { continuation in client.stop { _ in continuation.resume() } }
    }
    let client = ClientRuntime(try Self.configuration(folder.url, .shared))
    client.setNetworkEnabled(false) { _ in }
    let outcome = Outcome<Void>()
    client.write(
      [.set(try DocumentKey(parsing: "a/before"), [:])],
      WriteCompletion(finish: { outcome.resolve($0) }, abandon: { outcome.resolve($0) }))
    let before = Outcome<Void>()
    client.readDocument(try DocumentKey(parsing: "a/before")) { before.resolve($0.map { _ in () }.mapError { $0 }) }
    try await before.value()
    await suspend(client)

    // Another process sends the write and ends. Nobody keeps the outcome, as nobody else is there.
    let file = folder.url.appendingPathComponent("cache.sqlite").path
    let other = try otherProcess(.shared)
    other.setNetworkEnabled(false) { _ in }
    let opened = Outcome<[MutationBatch]>()
    other.pendingWrites { opened.resolve($0.map(\.batches).mapError { $0 }) }
    #expect(try await opened.value().count == 1)
    let database = try Database(.file(path: file))
    try database.execute("DELETE FROM cache_batch_documents")
    try database.execute("DELETE FROM cache_mutation_batches")
    database.close()
    await end(other)
    try Data("a page".utf8).write(to: URL(fileURLWithPath: file + ".damaged"))
    let third = try otherProcess(.shared)
    third.setNetworkEnabled(false) { _ in }
    third.write([.set(try DocumentKey(parsing: "a/third"), [:])], nil)
    await end(third)
    client.post(.resume)
    #expect(await thrown { try await outcome.value() }?.code == FirestoreErrorCode.unknown.rawValue)
    await end(client)
  }

  @Test("can be terminated: what was asked in between is answered, what was written is saved")
  func terminated() async throws {
    #expect(try await pendingCount() == 0)
    await suspend()
    try write("a/between")
    let held = Outcome<[MutationBatch]>()
    runtime.pendingWrites { held.resolve($0.map(\.batches).mapError { $0 }) }
    await stop()
    #expect(try await held.value().count == 1)
    let next = try otherProcess()
    next.setNetworkEnabled(false) { _ in }
    let saved = Outcome<[MutationBatch]>()
    next.pendingWrites { saved.resolve($0.map(\.batches).mapError { $0 }) }
    #expect(try await saved.value().count == 1)
    await withCheckedContinuation { continuation in next.stop { _ in continuation.resume() } }
  }

  @Test("can be terminated when another process has the folder, and tasks that wait end with the reason")
  func terminatedWithoutFolder() async throws {
    #expect(try await pendingCount() == 0)
    await suspend()
    let other = try otherProcess()
    let opened = Outcome<[MutationBatch]>()
    other.pendingWrites { opened.resolve($0.map(\.batches).mapError { $0 }) }
    #expect(try await opened.value().isEmpty)
    try write("a/unheard")
    let held = Outcome<Void>()
    runtime.write(
      [.set(try DocumentKey(parsing: "a/between"), ["n": .integer(1)])],
      WriteCompletion(finish: { held.resolve($0) }, abandon: { held.resolve($0) }))
    let unsaved = await withCheckedContinuation { continuation in runtime.stop { continuation.resume(returning: $0) } }
    let message = unsaved?.localizedDescription ?? ""
    #expect(message.hasPrefix("2 writes are not saved") && !message.contains("Besides"), "\(message)")
    #expect(await thrown { try await held.value() }?.code == FirestoreErrorCode.failedPrecondition.rawValue)
    await withCheckedContinuation { continuation in other.stop { _ in continuation.resume() } }
  }
}
