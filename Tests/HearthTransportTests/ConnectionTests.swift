import Foundation
import GRPCCore
import HearthModel
import HearthTransport
import HearthWire
import SwiftProtobuf
import Testing

@Suite("Connecting", .timeLimit(.minutes(2)))
struct ConnectionTests {
  private static let listen: [String: Script] = [
    "Listen": { call in
      for try await _ in call.requests {
        try await call.send(Google_Firestore_V1_ListenResponse.with { $0.targetChange = .init() })
      }
    }
  ]

  @Test("a port that refuses is reported, with host and port")
  func refused() async throws {
    let port = try SilentSocket(listening: false)
    let transport = try FirestoreTransport(configuration(port: port.port))
    for _ in 1...3 {
      let events = EventRecorder<WatchResponse>()
      let stream = transport.openWatchStream(onEvent: events.record)
      let error = try await events.nextError()
      #expect(error.code == .unavailable)
      #expect(error.message.contains("127.0.0.1:\(port.port)"))
      #expect(error.message.contains("refused"), "\(error.message)")
      stream.close()
      #expect(events.all.count == 1)
    }
    await #expect(throws: StatusError.self) { _ = try await transport.commit([]) }
    await transport.shutdown()
  }

  @Test("a stream opened after a failure reaches a backend that has come up in the meantime")
  func recovery() async throws {
    let first = try await ScriptedBackend.start(Self.listen)
    let transport = try FirestoreTransport(configuration(port: first.port))
    let events = EventRecorder<WatchResponse>()
    let stream = transport.openWatchStream(onEvent: events.record)
    stream.send(.removeTarget(2))
    #expect(await events.next() == .opened)
    #expect(await events.nextMessage() != nil)

    await first.kill()
    let lost = try await events.nextError()
    #expect(lost.code == .unavailable, "\(lost)")

    let refused = EventRecorder<WatchResponse>()
    let refusedStream = transport.openWatchStream(onEvent: refused.record)
    #expect(try await refused.nextError().code == .unavailable)

    let second = try await ScriptedBackend.start(port: first.port, Self.listen)
    let events2 = EventRecorder<WatchResponse>()
    let stream2 = transport.openWatchStream(onEvent: events2.record)
    stream2.send(.removeTarget(2))
    #expect(await events2.next() == .opened)
    #expect(await events2.nextMessage() != nil)
    withExtendedLifetime((stream, refusedStream)) {}
    await transport.shutdown()
    await second.kill()
  }

  @Test("a host that takes the connection and says nothing is given up")
  func silent() async throws {
    let socket = try SilentSocket(listening: true)
    var silent = configuration(port: socket.port)
    silent.openTimeout = .milliseconds(300)
    let transport = try FirestoreTransport(silent)
    let events = EventRecorder<WriteResponse>()
    let stream = transport.openWriteStream(onEvent: events.record)
    let error = try await events.nextError()
    #expect(error.code == .unavailable)
    #expect(error.message.contains("127.0.0.1:\(socket.port)"))
    #expect(error.message.contains("did not answer"))
    stream.close()
    await transport.shutdown()
    #expect(events.all.count == 1)
  }

  @Test("a host that does not exist is reported by name")
  func unknownHost() async throws {
    let transport = try FirestoreTransport(configuration(port: 443, host: "no-such-host.invalid"))
    let events = EventRecorder<WatchResponse>()
    let stream = transport.openWatchStream(onEvent: events.record)
    let error = try await events.nextError()
    #expect(error.code == .unavailable)
    #expect(error.message.contains("no-such-host.invalid:443"))
    withExtendedLifetime(stream) {}
    await transport.shutdown()
  }

  @Test("streams go on while later ones use a new connection")
  func reconnect() async throws {
    let backend = try await ScriptedBackend.start(Self.listen)
    let transport = try FirestoreTransport(configuration(port: backend.port))
    let (events1, events2) = (EventRecorder<WatchResponse>(), EventRecorder<WatchResponse>())
    let stream1 = transport.openWatchStream(onEvent: events1.record)
    #expect(await events1.next() == .opened)
    transport.reconnect()
    let stream2 = transport.openWatchStream(onEvent: events2.record)
    #expect(await events2.next() == .opened)
    stream1.send(.removeTarget(2))
    stream2.send(.removeTarget(2))
    #expect(await events1.nextMessage() != nil)
    #expect(await events2.nextMessage() != nil)
    await transport.shutdown()
    #expect(events1.all.last == .closed(nil))
    #expect(events2.all.last == .closed(nil))
    await backend.kill()
  }

  @Test("settings that cannot work are refused with what is wrong")
  func validation() throws {
    func message(_ change: (inout TransportConfiguration) -> Void) throws -> String {
      var changed = configuration(port: 1)
      change(&changed)
      let error = try #require(throws: StatusError.self) { _ = try FirestoreTransport(changed) }
      #expect(error.code == .invalidArgument)
      return error.message
    }
    #expect(try message { $0.host = "" }.contains("host name"))
    #expect(try message { $0.host = "http://localhost" }.contains("http://localhost"))
    #expect(try message { $0.port = 0 }.contains("Port 0"))
    #expect(try message { $0.port = 65_536 }.contains("65536"))
    #expect(try message { $0.databaseID.projectID = "bad\nid" }.contains("bad\nid"))
    #expect(try message { $0.apiClientHeader = "é" }.contains("é"))
  }
}
