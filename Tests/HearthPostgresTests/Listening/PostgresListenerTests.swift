#if PostgreSQL
  import HearthPostgres
  import PostgresSupport
  import Synchronization
  import TestSupport
  import Testing

  @Suite("Listeners", .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"))
  struct PostgresListenerTests {
    private typealias Event = PostgresListener.Event
    private static let notify = PostgresStatement("notify", "SELECT pg_notify($1, $2)", [.text, .text])

    /// Keeps what a listener reports.
    private final class Events: Sendable {
      private let events = Mutex<[Event]>([])

      func add(_ event: Event) { events.withLock { $0.append(event) } }
      var all: [Event] { events.withLock { $0 } }
      var kinds: [String] {
        all.map { event in
          switch event {
          case .listening: "listening"
          case .notification(_, let payload): payload
          case .disconnected: "disconnected"
          }
        }
      }
    }

    private static func send(_ payloads: [String], on channel: String, to url: String) async throws {
      try await withPostgresSession(url) { session in
        for payload in payloads { _ = try session.run(notify.call(.text(channel), .text(payload))) }
      }
    }

    @Test("payloads of its channels are heard in their order", arguments: ["news", "Strange \"name\" ü"])
    func payloads(channel: String) async throws {
      let url = try await PostgresServer.shared().createDatabase()
      let events = Events()
      let listener = try PostgresListener(
        try PostgresConfiguration(url: url), label: "listener", channels: ["other", channel]
      ) { events.add($0) }
      try await waitUntil { events.kinds == ["listening"] }
      let payloads = ["", "a", "ü😀", String(repeating: "x", count: 7999)]
      try await Self.send(payloads, on: channel, to: url)
      try await Self.send(["unheard"], on: "third", to: url)
      try await Self.send(["last"], on: "other", to: url)
      try await waitUntil { events.all.count == 6 }
      #expect(
        events.all == [.listening] + payloads.map { .notification(channel: channel, payload: $0) } + [
          .notification(channel: "other", payload: "last")
        ])
      await listener.close()
    }

    @Test("a lost session is reported once and replaced, also if that takes several attempts")
    func lostSession() async throws {
      let server = try await PostgresServer.shared()
      let url = try await server.createDatabase()
      let proxy = try FaultyProxy(to: server.port)
      defer { proxy.close() }
      let events = Events()
      let listener = try PostgresListener(
        try PostgresConfiguration(url: url.replacing(":\(server.port)/", with: ":\(proxy.port)/")), label: "listener",
        channels: ["news"]
      ) { events.add($0) }
      try await waitUntil { events.kinds == ["listening"] }
      proxy.refuse(true)
      proxy.cutAll()
      try await waitUntil { proxy.connectionCounts.refused >= 6 }
      #expect(events.kinds == ["listening", "disconnected"])
      try await Self.send(["missed"], on: "news", to: url)
      proxy.refuse(false)
      try await waitUntil { events.all.count == 3 }
      try await Self.send(["heard"], on: "news", to: url)
      try await waitUntil { events.all.count == 4 }
      #expect(events.kinds == ["listening", "disconnected", "listening", "heard"])
      await listener.close()
    }

    @Test("a server that went silent is noticed by asking it", .timeLimit(.minutes(1)))
    func silentServer() async throws {
      let server = try await PostgresServer.shared()
      let url = try await server.createDatabase()
      let proxy = try FaultyProxy(to: server.port)
      defer { proxy.close() }
      let events = Events()
      let listener = try PostgresListener(
        try PostgresConfiguration(url: url.replacing(":\(server.port)/", with: ":\(proxy.port)/")), label: "listener",
        channels: ["news"], silence: .milliseconds(50)
      ) { events.add($0) }
      try await waitUntil { events.kinds == ["listening"] }
      // Questions are answered, and the answers are no events.
      let bytes = proxy.lastByteCounts.toClient
      try await waitUntil { proxy.lastByteCounts.toClient > bytes + 200 }
      #expect(events.kinds == ["listening"])
      proxy.stallAll()
      try await waitUntil { events.kinds == ["listening", "disconnected", "listening"] }
      await listener.close()
    }

    @Test(
      "nothing is reported after the end, which comes at once, also while a server is looked for",
      .timeLimit(.minutes(1)))
    func closing() async throws {
      let server = try await PostgresServer.shared()
      let url = try await server.createDatabase()
      let events = Events()
      let listener = try PostgresListener(try PostgresConfiguration(url: url), label: "listener", channels: ["news"]) {
        events.add($0)
      }
      try await waitUntil { events.kinds == ["listening"] }
      await listener.close()
      try await Self.send(["late"], on: "news", to: url)
      #expect(events.kinds == ["listening"])
      await listener.close()
      let lost = Events()
      let searcher = try PostgresListener(
        try PostgresConfiguration(url: "postgres://postgres@127.0.0.1:1/x"), label: "searcher", channels: ["news"]
      ) { lost.add($0) }
      try await waitUntil { lost.kinds == ["disconnected"] }
      await searcher.close()
      #expect(lost.kinds == ["disconnected"])
    }
  }
#endif
