import Foundation
import HearthModel
import Synchronization
import Testing

@testable import Hearth

/// Bundles by people who mean no good, streams that never end, and clients that end first.
@Suite("Hostile bundles", .timeLimit(.minutes(2)))
struct HostileBundleTests {
  private func bundle(_ db: Firestore, documents count: Int) -> Data {
    TestBundle.of(db, collection: "cities", (0..<count).map { ("c\($0)", #""text":{"stringValue":"é \#($0)"}"#) })
  }

  /// The loading's error, if any. Cancellation of the test ends the wait.
  private func error(_ db: Firestore, _ data: Data) async -> NSError? {
    await thrown { _ = try await db.loadBundle(data) }
  }

  private func state(_ db: Firestore) async throws -> [String: String] {
    var state: [String: String] = [:]
    for document in try await db.collection("cities").getDocuments(source: .cache).documents {
      state[document.documentID] = "\(document.data())"
    }
    return state
  }

  @Test("cut off after any number of bytes, a bundle is an error and nothing of it is in the cache")
  func truncated() async throws {
    let db = try await TestFirestore.offline()
    let data = bundle(db, documents: 3)
    for length in 0..<data.count {
      let error = await error(db, data.prefix(length))
      #expect(error?.domain == FirestoreErrorDomain, "cut off after \(length)")
      let expected: FirestoreErrorCode.Code = length == 0 ? .unknown : .invalidArgument
      #expect(error?.code == expected.rawValue, "cut off after \(length)")
    }
    #expect(try await state(db).isEmpty)
    #expect(await error(db, data) == nil)
    #expect(try await state(db).count == 3)
    try await db.terminate()
  }

  @Test("with any byte changed, a bundle is loaded whole or not at all", arguments: [0x00, 0x22, 0x39, 0x7B, 0xFF])
  func changed(byte: Int) async throws {
    let db = try await TestFirestore.offline()
    db.document("cities/own").setData(["n": 1], completion: nil)
    var before = try await state(db)
    let data = bundle(db, documents: 2)
    for index in data.indices where index.isMultiple(of: 3) {
      var broken = data
      broken[index] = UInt8(byte)
      let isLoaded = await error(db, broken) == nil
      let after = try await state(db)
      #expect(isLoaded || after == before, "byte \(index)")
      before = after
    }
    try await db.terminate()
  }

  @Test("counts, lengths, names and nesting without measure are errors, soon")
  func withoutMeasure() async throws {
    let db = try await TestFirestore.offline()
    let root = db.databaseID.documentsName
    func sized(_ element: String) -> String { "\(element.utf8.count)\(element)" }
    func metadata(_ documents: String, id: String = "x") -> String {
      sized(
        #"{"metadata":{"id":"\#(id)","createTime":"2026-01-01T00:00:00Z","version":1,"totalDocuments":\#(documents),"#
          + #""totalBytes":"9223372036854775807"}}"#)
    }
    func query(_ structured: String) -> String {
      sized(
        #"{"namedQuery":{"name":"q","readTime":"2026-01-01T00:00:00Z","bundledQuery":{"parent":"\#(root)","#
          + #""structuredQuery":{"from":[{"collectionId":"cities"}],\#(structured)}}}}"#)
    }
    let nested =
      String(repeating: #"{"compositeFilter":{"op":"AND","filters":["#, count: 10_000)
      + String(repeating: "]}}", count: 10_000)
    for (name, text) in [
      ("more documents than there are", metadata("9223372036854775807")),
      ("more than a number holds", metadata("\"9223372036854775808\"")),
      ("fewer than none", metadata("-1")),
      ("half a document", metadata("0.5")),
      ("a length of many digits", String(repeating: "0", count: 1 << 20) + "2{}"),
      ("a length beyond all numbers", String(repeating: "9", count: 1 << 20)),
      ("a length and no element", metadata("0") + "100000000{"),
      ("filters in filters", metadata("0") + query(#""where":\#(nested)"#)),
      ("a limit below zero", metadata("0") + query(#""limit":-1"#)),
      ("values of another kind", metadata("0") + query(#""where":7"#)),
    ] {
      let error = await error(db, Data(text.utf8))
      #expect(error?.code == FirestoreErrorCode.invalidArgument.rawValue, "\(name)")
    }
    #expect(await db.getQuery(named: "q") == nil)
    #expect(try await state(db).isEmpty)
    try await db.terminate()
  }

  @Test("names and limits at the edge are taken as they are")
  func edges() async throws {
    let db = try await TestFirestore.offline()
    let root = db.databaseID.documentsName
    func sized(_ element: String) -> String { "\(element.utf8.count)\(element)" }
    for (number, id) in ["", "a/b", "//", #"\u0000"#, "cafe\u{301}", "caf\u{E9}"].enumerated() {
      let query = sized(
        #"{"namedQuery":{"name":"\#(id)","readTime":"2026-01-01T00:00:00Z","bundledQuery":{"parent":"\#(root)","#
          + #""limitType":"LAST","structuredQuery":{"from":[{"collectionId":"cities"}],"#
          + #""orderBy":[{"field":{"fieldPath":"n"}}],"limit":\#(number == 0 ? 9_223_372_036_854_775_807 : number)}}}}"#
      )
      let metadata = sized(
        #"{"metadata":{"id":"\#(id)","createTime":"2026-01-01T00:00:00Z","version":1,"totalDocuments":0}}"#)
      #expect(await error(db, Data((metadata + query).utf8)) == nil, "\(id)")
    }
    let cities = db.collection("cities").order(by: "n")
    #expect(await db.getQuery(named: "a/b") == cities.limit(toLast: 1))
    #expect(await db.getQuery(named: "\0") == cities.limit(toLast: 3))
    // Names that look alike are two names.
    #expect(await db.getQuery(named: "cafe\u{301}") == cities.limit(toLast: 4))
    #expect(await db.getQuery(named: "caf\u{E9}") == cities.limit(toLast: 5))
    let all = try #require(await db.getQuery(named: ""))
    #expect(try await all.getDocuments(source: .cache).isEmpty)
    try await db.terminate()
  }

  @Test("a stream without end is read no further than its first mistake")
  func endless() async throws {
    let db = try await TestFirestore.offline()
    let good = bundle(db, documents: 1)
    for begin in [Data("x".utf8), good] {
      let stream = EndlessStream(after: begin)
      let fate = stream.fate
      let error = await thrown { _ = try await db.loadBundle(stream) }
      #expect(error?.code == FirestoreErrorCode.invalidArgument.rawValue)
      try await fate.closed.next()
      #expect(fate.bytesRead.withLock { $0 } <= 4 * BundleSource.pieceSize)
    }
    // Loading the same bundle again succeeds at its metadata, whatever follows.
    #expect(await error(db, good) == nil)
    let again = EndlessStream(after: good)
    let fate = again.fate
    #expect(try await db.loadBundle(again).state == .success)
    try await fate.closed.next()
    try await db.terminate()
  }

  @Test("termination ends a loading, and its stream is read no further")
  func termination() async throws {
    let db = try await TestFirestore.offline()
    let stream = EndlessStream(after: Data("100000000{".utf8), isPaced: true)
    let fate = stream.fate
    let observed = Recorder<LoadBundleTaskProgress>()
    let completed = Recorder<(progress: LoadBundleTaskProgress?, error: NSError?)>()
    start(db, stream, observed, completed)
    try await fate.asked.next()
    try await db.terminate()
    for _ in 0..<4 { fate.goOn.signal() }
    let completion = try await completed.next()
    #expect(completion.progress?.state == .error)
    #expect(completion.error?.code == FirestoreErrorCode.cancelled.rawValue)
    try await fate.closed.next()
    #expect(observed.events.map(\.state) == [.error])
    #expect(observed.events.first?.totalBytes == 0)
  }

  /// Asynchronous code gets the asynchronous form, which has no observers.
  private func start(
    _ db: Firestore, _ stream: InputStream, _ observed: Recorder<LoadBundleTaskProgress>,
    _ completed: Recorder<(progress: LoadBundleTaskProgress?, error: NSError?)>
  ) {
    let task = db.loadBundle(stream) { completed.record(($0, $1 as NSError?)) }
    task.addObserver { observed.record($0) }
  }

  @Test("hundreds of bundles at once are all loaded")
  func many() async throws {
    let db = try await TestFirestore.offline()
    let count = 300
    let ended = Recorder<Int?>()
    for number in 0..<count {
      let data = TestBundle.of(db, collection: "c\(number)", [("a", #""n":{"integerValue":\#(number)}"#)])
      db.loadBundle(data) { progress, _ in ended.record(progress?.documentsLoaded) }
    }
    for _ in 0..<count { #expect(try await ended.next() == 1) }
    #expect(try await db.document("c299/a").getDocument(source: .cache)["n"] as? Int == 299)
    try await db.terminate()
  }

  @Test("an observer that was removed hears nothing more, and the others hear the end before the completion")
  func observers() async throws {
    let db = try await TestFirestore.offline()
    let queue = db.settings.dispatchQueue
    let data = bundle(db, documents: 20)
    let heard = Recorder<String>()
    queue.sync {
      // Nothing is told before this block ends.
      let task = db.loadBundle(data) { progress, error in
        #expect(error == nil && progress?.state == .success)
        heard.record("completed")
      }
      let removed = task.addObserver { _ in heard.record("removed") }
      let holder = Mutex<LoadBundleObserverHandle>(0)
      let handle = task.addObserver { progress in
        heard.record("first \(progress.documentsLoaded)")
        if progress.documentsLoaded == 2 { task.removeObserverWith(handle: holder.withLock { $0 }) }
      }
      holder.withLock { $0 = handle }
      task.addObserver { progress in if progress.state == .success { heard.record("last") } }
      task.removeObserverWith(handle: removed)
      task.removeObserverWith(handle: 99)
      #expect(removed == 1 && handle == 2)
    }
    _ = try await heard.next { $0 == "completed" }
    #expect(heard.events == ["first 0", "first 1", "first 2", "last", "completed"])
    try await db.terminate()
  }
}

/// A stream of some bytes and then digits without end.
private final class EndlessStream: InputStream {
  /// Events of the stream.
  final class Fate: Sendable {
    let bytesRead = Mutex(0)
    let asked = Recorder<Void>()
    let goOn = DispatchSemaphore(value: 0)
    let closed = Recorder<Void>()
  }

  let fate = Fate()
  private var begin: Data
  private let isPaced: Bool

  /// - Parameter isPaced: True if each read reports to `asked` and then waits for `goOn`.
  init(after begin: Data, isPaced: Bool = false) {
    self.begin = begin
    self.isPaced = isPaced
    super.init(data: Data())
  }

  override func open() {}
  override func close() { fate.closed.record(()) }
  override var hasBytesAvailable: Bool { true }

  override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
    if isPaced {
      fate.asked.record(())
      fate.goOn.wait()
    }
    let first = begin.prefix(maxLength)
    first.copyBytes(to: buffer, count: first.count)
    for index in first.count..<maxLength { buffer[index] = UInt8(ascii: "1") }
    begin = Data(begin.dropFirst(first.count))
    fate.bytesRead.withLock { $0 += maxLength }
    return maxLength
  }
}
