internal import BenchmarkKit
internal import Foundation
internal import Hearth
internal import Synchronization

/// Several processes on one cache.
enum SharingBenchmarks {
  static let all = [
    Benchmark(
      "sharing.latency", group: "Sharing a cache between processes",
      title: "from a write to the snapshot in another process, offline", sizes: [1],
      goals: [1: .init(wallTime: 3e-3, wallTime99: 10e-3)], body: { try latency($0, host: nowhere) }),
    Benchmark(
      "sharing.latency-online", group: "Sharing a cache between processes",
      title: "the same while the writes are sent and acknowledged", sizes: [1],
      goals: [1: .init(wallTime: 3e-3, wallTime99: 10e-3)],
      body: { session in
        let server = try ServerWithDocuments(count: 0)
        try latency(session, host: server.host)
        try server.stop()
      }),
    Benchmark(
      "sharing.latency-one-process", group: "Sharing a cache between processes",
      title: "the same offline, within one process", sizes: [1], body: latencyInOneProcess),
    Benchmark(
      "sharing.takeover", group: "Sharing a cache between processes",
      title: "SIGKILL of the process with the streams, to the acknowledgement of a write by another one", sizes: [1],
      goals: [1: .init(wallTime: 0.25)], body: takeover),
    Benchmark(
      "sharing.idle", group: "Sharing a cache between processes",
      title:
        "processor time of 8 idle processes in a second, with a listener each; memory of one beyond a bare runtime",
      sizes: [8], goals: [8: .init(processorTime: 10e-3, peakMemoryBytes: 5_000_000)], body: idle),
  ]

  /// No backend: the client is offline.
  static let nowhere = "127.0.0.1:1"

  private static func app(folder: String, host: String) throws -> App {
    let app = App(cache: PersistentCacheSettings(directory: URL(fileURLWithPath: folder)), host: host)
    if host == nowhere { try app.goOffline() }
    return app
  }

  // MARK: - Latency

  private static func latency(_ session: Session, host: String) throws {
    let folder = try session.makeFolder()
    let peer = try Peer(.writer, folder: folder, host: host)
    let app = try app(folder: folder, host: host)
    let times = Latencies()
    let registration = app.places.addSnapshotListener { snapshot, _ in times.note(snapshot) }
    peer.go()
    try peer.waitForLine()
    try times.wait()
    registration.remove()
    try app.end()
    peer.end()
    session.note(wallTimes: times.values)
  }

  private static func latencyInOneProcess(_ session: Session) throws {
    let app = try app(folder: session.makeFolder(), host: nowhere)
    let times = Latencies()
    let registration = app.places.addSnapshotListener { snapshot, _ in times.note(snapshot) }
    for _ in 0..<Peer.writeCount {
      app.places.document("place").setData(["at": monotonicSeconds])
      Thread.sleep(forTimeInterval: 0.02)
    }
    try times.wait()
    registration.remove()
    try app.end()
    session.note(wallTimes: times.values)
  }

  /// The times from writes to the snapshots that show them first.
  private final class Latencies: Sendable {
    private let seen = Mutex<[Double: Double]>([:])

    func note(_ snapshot: QuerySnapshot?) {
      let now = monotonicSeconds
      guard let at = snapshot?.documents.first?.get("at") as? Double else { return }
      seen.withLock { if $0[at] == nil { $0[at] = now - at } }
    }

    /// Snapshots of writes that came together may be one, but hardly any do.
    func wait() throws {
      let end = monotonicSeconds + 10
      while seen.withLock({ $0.count }) < Peer.writeCount * 95 / 100 {
        if monotonicSeconds > end { throw Failure(message: "\(values.count) of \(Peer.writeCount) writes were seen") }
        Thread.sleep(forTimeInterval: 0.01)
      }
    }

    var values: [Double] { seen.withLock { Array($0.values) } }
  }

  // MARK: - Takeover

  private static func takeover(_ session: Session) throws {
    let server = try ServerWithDocuments(count: 0)
    var times: [Double] = []
    for _ in 0..<20 {
      let folder = try session.makeFolder()
      let first = try Peer(.idle, folder: folder, host: server.host)
      let app = try app(folder: folder, host: server.host)
      let place = app.places.document("place")
      // Sent by the first process.
      try wait { place.setData(["a": 1], completion: $0) }
      let start = monotonicSeconds
      first.kill()
      try wait { place.setData(["a": 2], completion: $0) }
      times.append(monotonicSeconds - start)
      try app.end()
    }
    try server.stop()
    session.note(wallTimes: times)
  }

  // MARK: - Idle

  private static func idle(_ session: Session) throws {
    let server = try ServerWithDocuments(count: 10)
    let folder = try session.makeFolder()
    let bare = try Peer(.bare, folder: folder, host: server.host)
    let peers = try (0..<session.size).map { _ in try Peer(.idle, folder: folder, host: server.host) }
    Thread.sleep(forTimeInterval: 5)
    let before = try peers.map { try Usage($0.identifier).processorTime }.reduce(0, +)
    let start = monotonicSeconds
    Thread.sleep(forTimeInterval: 10)
    let after = try peers.map { try Usage($0.identifier).processorTime }.reduce(0, +)
    let seconds = monotonicSeconds - start
    let memory = try peers.map { try Usage($0.identifier).ownMemory }.sorted()
    session.note(processorTimes: [(after - before) / seconds], wallTimes: [])
    session.noteMemory(bytes: try memory[memory.count / 2] - Usage(bare.identifier).ownMemory)
    for peer in peers + [bare] { peer.end() }
    try server.stop()
  }

  /// The resources of a process, from Linux's files about it.
  private struct Usage {
    /// Seconds, of all its threads.
    let processorTime: Double
    /// Bytes that it shares with no other process.
    let ownMemory: Int

    init(_ process: Int32) throws {
      let folder = "/proc/\(process)"
      var nanoseconds = 0
      for thread in try FileManager.default.contentsOfDirectory(atPath: "\(folder)/task") {
        // A thread may have ended in between.
        guard let text = try? String(contentsOfFile: "\(folder)/task/\(thread)/schedstat", encoding: .utf8) else {
          continue
        }
        nanoseconds += text.split(separator: " ").first.flatMap { Int($0) } ?? 0
      }
      processorTime = Double(nanoseconds) / 1e9
      var kilobytes = 0
      for line in try String(contentsOfFile: "\(folder)/smaps_rollup", encoding: .utf8).split(separator: "\n")
      where line.hasPrefix("Private_") {
        kilobytes += line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
      }
      ownMemory = kilobytes * 1_024
    }
  }
}
