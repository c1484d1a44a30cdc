import Foundation
import HearthModel
import HearthSync
import HearthTransport
import Synchronization
import TestSupport
import Testing

@testable import Hearth

/// The system's notices of its network reach the client. The notices are the test's own.
@Suite("Changes of the network", .timeLimit(.minutes(1)))
struct ConnectivityTests {
  private let clock = ContinuousClock()

  private func configuration(
    _ host: String, _ monitor: TestConnectivity, backoff: ExponentialBackoff.Parameters = .init()
  ) throws -> ClientConfiguration {
    var configuration = ClientConfiguration(
      databaseID: DatabaseID(projectID: "demo-hearth"), endpoint: try Endpoint(host: host, usesTLS: false),
      cache: .memory(.eager), callbackQueue: DispatchQueue(label: "test"))
    configuration.connectivity = monitor
    configuration.backoff = backoff
    return configuration
  }

  private func stop(_ runtime: ClientRuntime) async throws {
    let outcome = Outcome<Void>()
    runtime.stop { _ in outcome.resolve(.success(())) }
    try await outcome.value()
  }

  /// Listens, and records for each snapshot whether it is from the cache.
  private func listen(_ runtime: ClientRuntime) -> (Recorder<Bool>, ListenerHandle) {
    let recorder = Recorder<Bool>()
    let rooms = HearthModel.Query(path: ResourcePath(["rooms"]))
    let handle = runtime.listen(rooms, options: .init(includeQueryMetadataChanges: true), on: .global()) { event in
      if let snapshot = try? event.get() { recorder.record(snapshot.isFromCache) }
    }
    return (recorder, handle)
  }

  @Test("a backend that is there again is asked at once, although the client pauses for a minute")
  func comesBack() async throws {
    try await TestBackend.run { host in
      let proxy = try StallingProxy(to: host)
      defer { proxy.close() }
      proxy.refuse(true)
      let monitor = TestConnectivity()
      let minute = ExponentialBackoff.Parameters(initialDelay: .seconds(60), maximumDelay: .seconds(60))
      var configuration = try configuration(proxy.host, monitor, backoff: minute)
      let pauses = Recorder<Void>()
      configuration.jitter = {
        pauses.record(())
        return 0
      }
      let runtime = ClientRuntime(configuration)
      let (isFromCache, handle) = listen(runtime)
      defer { handle.remove() }
      #expect(try await isFromCache.next())
      // The second attempt follows the first after a pause of nothing, the third one after a minute: in that pause the client is now.
      for _ in 1...2 { try await pauses.next() }
      proxy.refuse(false)
      let start = clock.now
      monitor.notify(ConnectivityChange(hasPath: true))
      while try await isFromCache.next() {}
      // It takes some milliseconds; the bound is for busy machines.
      #expect(clock.now - start < .seconds(10))
      try await stop(runtime)
    }
  }

  @Test("a connection that died with the old network is replaced, and the client is in sync again")
  func deadConnection() async throws {
    try await TestBackend.run { host in
      let proxy = try StallingProxy(to: host)
      defer { proxy.close() }
      let monitor = TestConnectivity()
      let runtime = ClientRuntime(try configuration(proxy.host, monitor))
      let (isFromCache, handle) = listen(runtime)
      defer { handle.remove() }
      while try await isFromCache.next() {}
      proxy.stall()
      let start = clock.now
      monitor.notify(ConnectivityChange(hasPath: true))
      let outcome = Outcome<Void>()
      runtime.write(
        [.set(try DocumentKey(parsing: "rooms/a"), ["n": 1])],
        WriteCompletion(finish: { outcome.resolve($0) }, abandon: { _ in }))
      try await outcome.value()
      // Without the notice, the connection's own pings find out after forty seconds.
      #expect(clock.now - start < .seconds(20))
      try await stop(runtime)
    }
  }

  @Test("the network is watched from the first attempt to reach the backend until the client has ended")
  func lifetime() async throws {
    let monitor = TestConnectivity()
    let runtime = ClientRuntime(try configuration("127.0.0.1:1", monitor))
    let offline = Outcome<Void>()
    runtime.setNetworkEnabled(false) { offline.resolve($0) }
    try await offline.value()
    #expect(monitor.watchCount == 0)
    let online = Outcome<Void>()
    runtime.setNetworkEnabled(true) { online.resolve($0) }
    try await online.value()
    let (isFromCache, handle) = listen(runtime)
    defer { handle.remove() }
    _ = try await isFromCache.next()
    #expect(monitor.watchCount == 1)
    try await stop(runtime)
    #expect(monitor.watchCount == 0)
    monitor.notify(ConnectivityChange(hasPath: true))
  }

  @Test("where the network cannot be watched, everything else works")
  func notWatched() async throws {
    try await TestBackend.run { host in
      let monitor = TestConnectivity(refusal: ConnectivityError("not here"))
      let runtime = ClientRuntime(try configuration(host, monitor))
      let (isFromCache, handle) = listen(runtime)
      defer { handle.remove() }
      while try await isFromCache.next() {}
      try await stop(runtime)
    }
  }
}

/// A network that changes when the test says so.
final class TestConnectivity: ConnectivityMonitor {
  private let refusal: ConnectivityError?
  private let watches = Mutex<[UUID: @Sendable (ConnectivityChange) -> Void]>([:])

  init(refusal: ConnectivityError? = nil) {
    self.refusal = refusal
  }

  func watch(
    _ onChange: @escaping @Sendable (ConnectivityChange) -> Void
  ) throws(ConnectivityError) -> ConnectivityWatch {
    if let refusal { throw refusal }
    let id = UUID()
    watches.withLock { $0[id] = onChange }
    return ConnectivityWatch { [weak self] in self?.watches.withLock { $0[id] = nil } }
  }

  var watchCount: Int { watches.withLock(\.count) }

  func notify(_ change: ConnectivityChange) {
    for onChange in watches.withLock({ Array($0.values) }) { onChange(change) }
  }
}
