import Foundation
import Hearth

/// A process that shares its cache with others and writes until it is told to stop, or killed. It reports on its standard output, a
/// line of JSON each.
///
/// Arguments: HOST:PORT PROJECT CACHE-FOLDER NAME. Commands, a line each on the standard input:
///
/// | command | does |
/// |---|---|
/// | `run SEED PAUSE` | writes, with random pauses of up to so many milliseconds in between |
/// | `write ID` | makes one write |
/// | `copy FOLDER` | copies the cache folder to another one, in this process |
/// | `offline`, `online` | switches the network |
/// | `settle` | stops writing, and waits until everything is acknowledged |
/// | `show COUNT` | waits until the listeners agree with the backend, on so many items |
/// | `end` | ends the client and the process in good order |
@main
enum CacheSharer {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 5 else {
      Report.say(["event": "failed", "reason": "usage: CacheSharer HOST:PORT PROJECT CACHE-FOLDER NAME"])
      exit(64)
    }
    do {
      let worker = try Worker(backend: arguments[1], project: arguments[2], cache: arguments[3], name: arguments[4])
      Report.say(["event": "ready"])
      for await line in commands() { try await worker.carryOut(line.split(separator: " ").map(String.init)) }
    } catch {
      Report.say(["event": "failed", "reason": "\(error)"])
      exit(1)
    }
  }
}

/// The lines of the standard input. At its end so does the process, whatever it waits for: nobody is there any more.
private func commands() -> AsyncStream<String> {
  let (lines, continuation) = AsyncStream<String>.makeStream()
  Thread.detachNewThread {
    while let line = readLine() { continuation.yield(line) }
    exit(0)
  }
  return lines
}

/// The client of the process and what it has seen.
private actor Worker {
  private let firestore: Firestore
  private let name: String
  private let cache: String
  private let views = Views()
  private var writing: Task<Void, any Error>?
  private var writeCount = 0

  init(backend: String, project: String, cache: String, name: String) throws {
    self.name = name
    self.cache = cache
    let options = FirebaseOptions(googleAppID: "1:1:swift:sharer", gcmSenderID: "1")
    options.projectID = project
    FirebaseApp.configure(options: options)
    firestore = Firestore.firestore()
    let settings = FirestoreSettings()
    settings.host = backend
    settings.isSSLEnabled = false
    settings.dispatchQueue = DispatchQueue(label: "cache-sharer")
    settings.cacheSettings = PersistentCacheSettings(directory: URL(fileURLWithPath: cache, isDirectory: true))
    firestore.settings = settings
    let views = views
    firestore.collection("items").addSnapshotListener(includeMetadataChanges: true) { snapshot, error in
      if let snapshot { views.show(items: snapshot) } else { Report.fail("items", error) }
    }
    firestore.document("totals/all").addSnapshotListener(includeMetadataChanges: true) { snapshot, error in
      if let snapshot { views.show(total: snapshot) } else { Report.fail("total", error) }
    }
  }

  func carryOut(_ command: [String]) async throws {
    switch command.first {
    case "run":
      let seed = UInt64(command[1]) ?? 0
      let pause = Int(command[2]) ?? 10
      writing = Task { try await self.write(seed, pause) }
    case "write": write(command[1])
    case "copy":
      try FileManager.default.copyItem(atPath: cache, toPath: command[1])
      Report.say(["event": "copied"])
    case "offline": try await firestore.disableNetwork()
    case "online": try await firestore.enableNetwork()
    case "settle": try await settle()
    case "show":
      views.whenInSync(on: Int(command[1]) ?? 0) { Report.say(["event": "settled", "total": $0]) }
    case "end":
      writing?.cancel()
      try await firestore.terminate()
      exit(0)
    default: Report.say(["event": "failed", "reason": "unknown command \(command)"])
    }
  }

  private func write(_ seed: UInt64, _ pause: Int) async throws {
    var state = seed
    while !Task.isCancelled {
      write("\(name)-\(writeCount)")
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      try await Task.sleep(for: .milliseconds(Int(state >> 33) % (pause + 1)))
    }
  }

  /// One item and its count, in one batch: the total is exact as long as no batch is lost in part, or written twice.
  private func write(_ id: String) {
    writeCount += 1
    let batch = firestore.batch()
    batch.setData(["by": name], forDocument: firestore.document("items/\(id)"))
    batch.setData(["total": FieldValue.increment(Int64(1))], forDocument: firestore.document("totals/all"), merge: true)
    batch.commit { error in
      if let error { Report.fail("write \(id)", error) } else { Report.say(["event": "acked", "id": id]) }
    }
  }

  private func settle() async throws {
    writing?.cancel()
    _ = await writing?.result
    writing = nil
    try await firestore.enableNetwork()
    try await firestore.waitForPendingWrites()
    Report.say(["event": "sent"])
  }
}

/// The documents that the listeners have shown last. Used on the client's queue, and locked, because commands come from elsewhere.
private final class Views: @unchecked Sendable {
  private let lock = NSLock()
  private var items: QuerySnapshot?
  private var total: DocumentSnapshot?
  private var waiting: (count: Int, callback: (Int) -> Void)?

  func show(items snapshot: QuerySnapshot) {
    lock.withLock { items = snapshot }
    for change in snapshot.documentChanges where change.type == .added {
      Report.say(["event": "seen", "id": change.document.documentID])
    }
    tellIfInSync()
  }

  func show(total snapshot: DocumentSnapshot) {
    lock.withLock { total = snapshot }
    tellIfInSync()
  }

  /// Calls back once with the total, when both listeners agree with the backend and there are so many items.
  func whenInSync(on count: Int, _ callback: @escaping (Int) -> Void) {
    lock.withLock { waiting = (count, callback) }
    tellIfInSync()
  }

  private func tellIfInSync() {
    let call = lock.withLock { () -> (() -> Void)? in
      guard let waiting, let items, let total, isSettled(items.metadata), isSettled(total.metadata) else { return nil }
      let sum = total.get("total") as? Int ?? 0
      // The two come with snapshots of their own.
      guard items.count == waiting.count, sum >= items.count else { return nil }
      self.waiting = nil
      return { waiting.callback(sum) }
    }
    call?()
  }

  private func isSettled(_ metadata: SnapshotMetadata) -> Bool { !metadata.isFromCache && !metadata.hasPendingWrites }
}

private enum Report {
  static func fail(_ place: String, _ error: (any Error)?) {
    say(["event": "failed", "reason": "\(place): \(error.map { "\($0)" } ?? "no error")"])
  }

  static func say(_ event: [String: Any]) {
    let data = (try? JSONSerialization.data(withJSONObject: event, options: .sortedKeys)) ?? Data("{}".utf8)
    FileHandle.standardOutput.write(data + Data("\n".utf8))
  }
}
