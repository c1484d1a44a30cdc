import Foundation
import HearthModel
import HearthStore
import HearthSync
import Synchronization
import Testing

@testable import Hearth
@testable import HearthCache

/// A client that had given its folder back, and finds its file marked as damaged or replaced.
@Suite("A client that comes back to a damaged cache", .timeLimit(.minutes(1)))
struct ReturningClientTests {
  enum Absence: CaseIterable {
    case suspended
    /// Another process has asked for the cache, and gives up.
    case yielding
  }

  private let client: LoopClient
  private var path: String { client.folder.url.path }

  init() throws {
    let folder = try TemporaryFolder()
    client = LoopClient(try SuspensionTests.configuration(folder.url, .shared), in: folder)
    client.handle(try client.write("a/before"))
  }

  private func leave(_ absence: Absence) {
    switch absence {
    case .suspended:
      client.handle(.suspend {})
    case .yielding:
      let request = EndRequest()
      request.ask(clientsOf: path)
      client.handle(.fromClient(number: 1, .othersChanged))
      request.withdraw()
    }
  }

  private func comeBack(_ absence: Absence) {
    client.handle(absence == .suspended ? .resume : .openAgain)
  }

  private var isSetAside: Bool { FileManager.default.fileExists(atPath: path + "/cache.sqlite.corrupt") }

  @Test("waits for another one that has the marked file open, and reads nothing from it", arguments: Absence.allCases)
  func marked(_ absence: Absence) throws {
    leave(absence)
    let other = try FolderLock(folder: path, mode: .shared)
    try CacheFiles(folder: path).mark("made to fail")
    let found = LoopAnswer<Result<Bool, NSError>>()
    client.handle(try client.read("a/before", found))
    #expect(found.value == nil, "the client has not left")
    comeBack(absence)
    #expect(found.value == nil && !isSetAside)
    other.release()
    client.handle(.openAgain)
    #expect(try found.value?.get() == true)
    #expect(isSetAside)
  }

  @Test("reads nothing from a file that another one has replaced", arguments: Absence.allCases)
  func replaced(_ absence: Absence) throws {
    leave(absence)
    try CacheFiles(folder: path).mark("made to fail")
    let other = LoopClient(try SuspensionTests.configuration(client.folder.url, .shared), in: client.folder)
    other.handle(try other.write("a/other"))
    #expect(isSetAside)
    let found = LoopAnswer<Result<Bool, NSError>>()
    client.handle(try client.read("a/other", found))
    comeBack(absence)
    #expect(try found.value?.get() == true)
  }

  @Test("waits while another one recovers the file, and continues", arguments: Absence.allCases)
  func recovering(_ absence: Absence) throws {
    leave(absence)
    // One that recovers a damaged file has the folder for itself, and asks nobody.
    let other = try LockFile(path: path + "/cache.lock")
    client.handle(try client.write("a/during"))
    let found = LoopAnswer<Result<Bool, NSError>>()
    client.handle(try client.read("a/during", found))
    comeBack(absence)
    client.handle(.openAgain)
    #expect(found.value == nil)
    other.release()
    client.handle(.openAgain)
    #expect(try found.value?.get() == true)
  }

  @Test("opens the cache at a later call if the folder was taken for itself by another one after a suspension")
  func takenAfterRecovery() throws {
    leave(.suspended)
    let recovering = try LockFile(path: path + "/cache.lock")
    comeBack(.suspended)
    recovering.release()
    let taking = try FolderLock(folder: path)
    client.handle(.openAgain)
    let found = (0..<2).map { _ in LoopAnswer<Result<Bool, NSError>>() }
    client.handle(try client.read("a/before", found[0]))
    #expect(throws: NSError.self) { try #require(found[0].value).get() }
    taking.keepNumber()
    taking.release()
    client.handle(try client.read("a/before", found[1]))
    #expect(try found[1].value?.get() == true)
  }

  @Test("ends if another one has taken the folder for itself", arguments: Absence.allCases)
  func taken(_ absence: Absence) throws {
    leave(absence)
    let other = try FolderLock(folder: path)
    let found = LoopAnswer<Result<Bool, NSError>>()
    client.handle(try client.read("a/before", found))
    comeBack(absence)
    #expect(throws: NSError.self) { try #require(found.value).get() }
    other.release()
  }

  @Test("whose files cannot be made again reopens the cache at a later call", arguments: Absence.allCases)
  func failingFolder(_ absence: Absence) throws {
    leave(absence)
    let obstacle = path + "/cache.lock"
    try FileManager.default.removeItem(atPath: obstacle)
    try FileManager.default.createDirectory(atPath: obstacle, withIntermediateDirectories: false)
    comeBack(absence)
    let found = (0..<2).map { _ in LoopAnswer<Result<Bool, NSError>>() }
    client.handle(try client.read("a/before", found[0]))
    #expect(throws: NSError.self) { try #require(found[0].value).get() }
    try FileManager.default.removeItem(atPath: obstacle)
    client.handle(try client.read("a/before", found[1]))
    #expect(try found[1].value?.get() == true)
  }

  @Test("A call that opens a cache whose folder was in use waits if others want it for themselves at that moment")
  func wantedAtOnce() async throws {
    let folder = try TemporaryFolder()
    let path = folder.url.path
    do {
      let first = LoopClient(try SuspensionTests.configuration(folder.url, .shared), in: folder)
      first.handle(try first.write("a/before"))
    }
    var configuration = try SuspensionTests.configuration(folder.url, .shared)
    configuration.folderWaitLimit = .zero
    let owner = try FolderLock(folder: path)
    let late = LoopClient(configuration, in: folder)
    let refused = LoopAnswer<Result<Bool, NSError>>()
    late.handle(try late.read("a/before", refused))
    #expect(throws: NSError.self) { try #require(refused.value).get() }
    owner.release()

    // Asks all the time, so that the client hears of it between its joining the others and its first event.
    let request = try LockFile(path: path + "/" + EndRequest.fileName)
    let isOver = Mutex(false)
    let asking = Thread {
      while !isOver.withLock({ $0 }), let database = try? Database(.file(path: path + "/cache.sqlite")) {
        try? LocalStore.askAllToEnd(database)
        database.close()
      }
    }
    asking.start()
    let found = LoopAnswer<Result<Bool, NSError>>()
    late.handle(try late.write("a/during"))
    late.handle(try late.read("a/during", found))
    isOver.withLock { $0 = true }
    while !asking.isFinished { await Task.yield() }
    request.release()
    late.handle(.openAgain)
    #expect(try found.value?.get() == true)
  }

  @Test("takes no part in a marked file")
  func lease() throws {
    let queue = DispatchQueue(label: "client")
    let folder = try TemporaryFolder()
    let configuration = try SuspensionTests.configuration(folder.url, .shared)
    try queue.sync {
      let client = try RunningClient(configuration, on: queue) { _ in }
      client.start()
      #expect(client.engine.isPrimary)
      client.suspend()
      #expect(!client.engine.isPrimary)
      try CacheFiles(folder: folder.url.path).mark("made to fail")
      #expect(try client.resume())
      #expect(client.reopening != nil && !client.engine.isPrimary)
      client.stop { _ in }
    }
  }
}
