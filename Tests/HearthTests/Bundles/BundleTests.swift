import Foundation
import HearthModel
import Synchronization
import Testing

@testable import Hearth

@Suite("Bundles", .timeLimit(.minutes(1)))
struct BundleTests {
  private func bundle(of db: Firestore, documents count: Int, isBroken: Bool = false) -> Data {
    Self.bundle(in: db.databaseID, documents: count, isBroken: isBroken)
  }

  static func bundle(in databaseID: DatabaseID, documents count: Int, isBroken: Bool = false) -> Data {
    let root = databaseID.documentsName
    var body = ""
    func add(_ element: String) { body += "\(element.utf8.count)\(element)" }
    add(
      #"{"namedQuery":{"name":"big","readTime":"2026-01-01T00:00:00Z","bundledQuery":{"parent":"\#(root)","#
        + #""structuredQuery":{"from":[{"collectionId":"cities"}],"orderBy":[{"field":{"fieldPath":"n"}}],"#
        + #""limit":2},"limitType":"LAST"}}}"#)
    for number in 0..<count {
      let name = "\(root)/cities/c\(number)"
      add(
        #"{"documentMetadata":{"name":"\#(name)","readTime":"2026-01-01T00:00:00Z","exists":true,"queries":["big"]}}"#)
      add(
        #"{"document":{"name":"\#(name)","createTime":"2025-01-01T00:00:00Z","updateTime":"2025-01-01T00:00:00Z","#
          + #""fields":{"n":{"integerValue":"\#(number)"},"text":{"stringValue":"é \#(number)"}}}}"#)
    }
    let metadata =
      #"{"metadata":{"id":"b","createTime":"2026-01-01T00:00:00Z","version":1,"#
      + #""totalDocuments":\#(isBroken ? count + 1 : count),"totalBytes":\#(body.utf8.count)}}"#
    return Data("\(metadata.utf8.count)\(metadata)\(body)".utf8)
  }

  /// Asynchronous code gets the asynchronous form, which has no observers.
  private func start(_ db: Firestore, _ stream: InputStream) -> LoadBundleTask { db.loadBundle(stream) }

  @Test("a bundle's documents and queries can be used offline, and observers hear how it goes")
  func load() async throws {
    let db = try await TestFirestore.offline()
    let data = bundle(of: db, documents: 500)
    // Nothing is read before the observer is there.
    let gate = DispatchSemaphore(value: 0)
    let task = start(db, WaitingStream(data, until: gate))
    let heard = Heard()
    let final = await withCheckedContinuation { continuation in
      let handle = task.addObserver { progress in
        heard.counts.withLock { $0.append(progress.documentsLoaded) }
        if progress.state != .inProgress { continuation.resume(returning: progress) }
      }
      #expect(handle == 1)
      gate.signal()
    }
    let counts = heard.counts.withLock { $0 }
    #expect(counts == counts.sorted())
    #expect(final.state == .success)
    #expect(final.documentsLoaded == 500 && final.totalDocuments == 500)
    #expect(final.bytesLoaded == final.totalBytes)

    let city = try await db.document("cities/c7").getDocument(source: .cache)
    #expect(city.get("text") as? String == "é 7")
    #expect(try await db.collection("cities").getDocuments(source: .cache).count == 500)
    let query = try #require(await db.getQuery(named: "big"))
    #expect(query == db.collection("cities").order(by: "n").limit(toLast: 2))
    #expect(try await query.getDocuments(source: .cache).ids == ["c498", "c499"])
    #expect(await db.getQuery(named: "small") == nil)
  }

  @Test("loading it again is a success at once; an observer that comes late is told the end")
  func again() async throws {
    let db = try await TestFirestore.offline()
    let data = bundle(of: db, documents: 3)
    let first = try await db.loadBundle(data)
    let task = start(db, InputStream(data: data))
    #expect(try await db.loadBundle(data) == first)
    let late = await withCheckedContinuation { continuation in
      task.addObserver { continuation.resume(returning: $0) }
    }
    #expect(late == first)
  }

  @Test("two loadings in a row go one after the other, and the second finds everything loaded")
  func inARow() async throws {
    let db = try await TestFirestore.offline()
    // The first one waits for its bytes, the second one's are there at once.
    let gate = DispatchSemaphore(value: 0)
    let data = bundle(of: db, documents: 40)
    let first = start(db, WaitingStream(data, until: gate))
    let (heard, second) = (Heard(), start(db, InputStream(data: data)))
    let ended = AsyncStream<LoadBundleTaskProgress>.makeStream()
    first.addObserver { if $0.state != .inProgress { ended.continuation.yield($0) } }
    second.addObserver { progress in
      heard.counts.withLock { $0.append(progress.documentsLoaded) }
      if progress.state != .inProgress { ended.continuation.yield(progress) }
    }
    gate.signal()
    var both = ended.stream.makeAsyncIterator()
    let ends = [await both.next(), await both.next()]
    #expect(ends.allSatisfy { $0?.state == .success && $0?.documentsLoaded == 40 })
    #expect(heard.counts.withLock { $0 } == [40])
    try await db.terminate()
  }

  @Test("a bundle that fails tells how far it came, with the error last")
  func progressBeforeError() async throws {
    let db = try await TestFirestore.offline()
    // Nothing is read before the observer is there.
    let gate = DispatchSemaphore(value: 0)
    let task = start(db, WaitingStream(bundle(of: db, documents: 3, isBroken: true), until: gate))
    let steps = AsyncStream<LoadBundleTaskProgress>.makeStream()
    task.addObserver { progress in
      steps.continuation.yield(progress)
      if progress.state != .inProgress { steps.continuation.finish() }
    }
    gate.signal()
    let told = await steps.stream.reduce(into: []) { $0.append($1) }
    #expect(told.map(\.documentsLoaded) == [0, 1, 2, 3, 3])
    #expect(told.map(\.state) == [.inProgress, .inProgress, .inProgress, .inProgress, .error])
    #expect(told.allSatisfy { $0.totalDocuments == 4 })
    #expect(told.last?.bytesLoaded == told.last?.totalBytes)
    try await db.terminate()
  }

  @Test("a bundle whose loading is ended by the end of the client tells how far it came")
  func progressBeforeEnd() async throws {
    let folder = try TemporaryFolder()
    let configuration = try SuspensionTests.configuration(folder.url)
    let client = ClientRuntime(configuration)
    let (progress, ends) = (Recorder<BundleProgress>(), Recorder<NSError?>())
    let observer = BundleObserver(progress: { progress.record($0) }, completion: { ends.record($0) })
    let id = client.beginBundle(observer)
    let data = Self.bundle(in: configuration.databaseID, documents: 3)
    client.addToBundle(id, [UInt8](data.dropLast(10))) { _ in }
    let last = try await progress.next { $0.documentsLoaded == 2 }
    await withCheckedContinuation { continuation in client.stop { _ in continuation.resume() } }
    #expect(try await ends.next()?.code == FirestoreErrorCode.cancelled.rawValue)
    var failed = last
    failed.state = .failed
    #expect(progress.events.last == failed)
  }

  @Test("a bundle that is none gives an error, and leaves the cache as it was")
  func errors() async throws {
    let db = try await TestFirestore.offline()
    let empty = await thrown { _ = try await db.loadBundle(Data()) }
    #expect(empty?.domain == FirestoreErrorDomain)
    #expect(empty?.code == FirestoreErrorCode.unknown.rawValue)
    for data in [
      Data("12345".utf8), bundle(of: db, documents: 2, isBroken: true), Data(repeating: 0x39, count: 1 << 20),
    ] {
      let (progress, error) = await withCheckedContinuation { continuation in
        let last = LastProgress()
        // The bytes come when an observer is there.
        let gate = DispatchSemaphore(value: 0)
        let task = db.loadBundle(WaitingStream(data, until: gate)) { progress, error in
          #expect(progress == last.value.withLock { $0 })
          continuation.resume(returning: (progress, error as NSError?))
        }
        task.addObserver { progress in last.value.withLock { $0 = progress } }
        gate.signal()
      }
      #expect(error?.code == FirestoreErrorCode.invalidArgument.rawValue)
      #expect(progress?.state == .error, "the completion gets the last progress together with the error")
    }
    #expect(try await db.collection("cities").getDocuments(source: .cache).isEmpty)
    let unreadable = await thrown {
      _ = try await db.loadBundle(InputStream(fileAtPath: "/does/not/exist") ?? InputStream(data: Data()))
    }
    #expect(unreadable?.code == FirestoreErrorCode.unknown.rawValue)
  }
}

/// A stream whose bytes come once it is allowed to.
private final class WaitingStream: InputStream {
  private let inner: InputStream
  private let gate: DispatchSemaphore
  private var isOpen = false

  init(_ data: Data, until gate: DispatchSemaphore) {
    inner = InputStream(data: data)
    self.gate = gate
    super.init(data: Data())
  }

  override func open() { inner.open() }
  override func close() { inner.close() }

  override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
    if !isOpen { gate.wait() }
    isOpen = true
    return inner.read(buffer, maxLength: length)
  }
}

private final class LastProgress: Sendable {
  let value = Mutex<LoadBundleTaskProgress?>(nil)
}

private final class Heard: Sendable {
  let counts = Mutex<[Int]>([])
}
