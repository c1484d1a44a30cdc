import GRPCCore
import HearthModel
import HearthTransport
import HearthWire
import SwiftProtobuf
import Synchronization
import Testing

private let key = try! DocumentKey(parsing: "cities/SF")

/// Answers each added target with its id, in the order of the requests.
private let echoTargets: Script = { call in
  for try await bytes in call.requests {
    let request = try Google_Firestore_V1_ListenRequest(serializedBytes: bytes)
    try await call.send(
      Google_Firestore_V1_ListenResponse.with { $0.targetChange.targetIds = [request.addTarget.targetID] })
  }
}

private func request(_ id: TargetID) -> WatchRequest {
  .addTarget(TargetRequest(targetID: id, target: cities))
}

@Suite("Streams", .timeLimit(.minutes(2)))
struct StreamTests {
  @Test("requests and answers keep their order, also those sent before the stream is open")
  func order() async throws {
    let backend = try await ScriptedBackend.start(["Listen": echoTargets])
    let transport = try FirestoreTransport(configuration(port: backend.port))
    let events = EventRecorder<WatchResponse>()
    let stream = transport.openWatchStream(onEvent: events.record)
    for id in 1...2000 {
      stream.send(request(TargetID(id)))
    }
    #expect(await events.next() == .opened)
    for id in 1...2000 {
      let answer = WatchResponse.targetChange(WatchTargetChange(state: .noChange, targetIDs: [TargetID(id)]))
      guard await events.nextMessage() == answer else {
        Issue.record("answer \(id) is missing or out of order")
        break
      }
    }
    stream.close()
    #expect(await events.next() == .closed(nil))
    await transport.shutdown()
    await backend.kill()
  }

  @Test("the write stream carries handshake, batches and answers")
  func writes() async throws {
    let seen = Mutex<[Google_Firestore_V1_WriteRequest]>([])
    let backend = try await ScriptedBackend.start([
      "Write": { call in
        for try await bytes in call.requests {
          let request = try Google_Firestore_V1_WriteRequest(serializedBytes: bytes)
          seen.withLock { $0.append(request) }
          try await call.send(writeAnswer(token: [1]))
        }
      }
    ])
    let transport = try FirestoreTransport(configuration(port: backend.port))
    let events = EventRecorder<WriteResponse>()
    let stream = transport.openWriteStream(onEvent: events.record)
    let write = WriteRequest.writes([.delete(key)], streamToken: [1], batchLabel: "c/1")
    stream.send(.handshake)
    #expect(await events.next() == .opened)
    #expect(await events.nextMessage() == WriteResponse(streamToken: [1]))
    stream.send(write)
    #expect(await events.nextMessage() == WriteResponse(streamToken: [1]))
    #expect(seen.withLock { $0 } == [WriteRequest.handshake, write].map { translator.encode($0) })
    await transport.shutdown()
    await backend.kill()
  }

  @Test("a write stream that its owner closes ends in good order and sends nothing that waited")
  func closingWrites() async throws {
    let requests = Signal<[Google_Firestore_V1_WriteRequest]>()
    let backend = try await ScriptedBackend.start([
      "Write": { call in
        var seen: [Google_Firestore_V1_WriteRequest] = []
        // On a machine so busy that the good end does not arrive in time, the client gives the call up: an error here.
        defer { requests.send(seen) }
        for try await bytes in call.requests {
          seen.append(try Google_Firestore_V1_WriteRequest(serializedBytes: bytes))
        }
      }
    ])
    let transport = try FirestoreTransport(configuration(port: backend.port))
    let events = EventRecorder<WriteResponse>()
    let handle = Mutex<StreamHandle<WriteRequest>?>(nil)
    // The callback holds back the sending side, so what is queued before it returns is not yet sent.
    let stream = transport.openWriteStream { event in
      if event == .opened, let stream = handle.withLock({ $0 }) {
        stream.send(.writes([.delete(key)], streamToken: [], batchLabel: "c/1"))
        stream.close()
      }
      events.record(event)
    }
    handle.withLock { $0 = stream }
    if await events.next() == .opened, events.all.count == 1 {
      // The handle came after the callback: close from here.
      stream.close()
    }
    #expect(await requests.wait() == [])
    while !events.all.contains(.closed(nil)) {
      _ = await events.next()
    }
    #expect(events.all == [.opened, .closed(nil)])
    await transport.shutdown()
    await backend.kill()
  }

  @Test("a watch stream that its owner closes is gone for the backend, and says so once")
  func closingWatch() async throws {
    let ended = Signal<Bool>()
    let backend = try await ScriptedBackend.start([
      "Listen": { call in
        do {
          for try await _ in call.requests {
            try await call.send(Google_Firestore_V1_ListenResponse.with { $0.targetChange = .init() })
          }
        } catch {
          ended.send(true)
          throw error
        }
        ended.send(true)
      }
    ])
    let transport = try FirestoreTransport(configuration(port: backend.port))
    let events = EventRecorder<WatchResponse>()
    let stream = transport.openWatchStream(onEvent: events.record)
    stream.send(request(2))
    #expect(await events.next() == .opened)
    #expect(await events.nextMessage() != nil)
    stream.close()
    stream.close()
    stream.send(request(4))
    #expect(await events.next() == .closed(nil))
    #expect(await ended.wait() == true)
    await transport.shutdown()
    #expect(events.all.count == 3)
    await backend.kill()
  }

  @Test("a stream may be closed from inside its callback; nothing but the end follows")
  func closingInside() async throws {
    let backend = try await ScriptedBackend.start([
      "Listen": { call in
        for id in 1...100 {
          try await call.send(
            Google_Firestore_V1_ListenResponse.with { $0.targetChange.targetIds = [TargetID(id)] })
        }
        for try await _ in call.requests {}
      }
    ])
    let transport = try FirestoreTransport(configuration(port: backend.port))
    let events = EventRecorder<WatchResponse>()
    let handle = Mutex<StreamHandle<WatchRequest>?>(nil)
    handle.withLock { stored in
      // Held while the stream opens, so that the callback finds the handle.
      stored = transport.openWatchStream { event in
        events.record(event)
        if case .message = event {
          handle.withLock { $0 }?.close()
        }
      }
    }
    #expect(await events.next() == .opened)
    #expect(await events.nextMessage() != nil)
    #expect(await events.next() == .closed(nil))
    await transport.shutdown()
    #expect(events.all.count == 3)
    await backend.kill()
  }

  @Test("a backend that ends the stream in good order is no error")
  func goodEnd() async throws {
    let backend = try await ScriptedBackend.start(["Listen": { _ in }])
    let transport = try FirestoreTransport(configuration(port: backend.port))
    let events = EventRecorder<WatchResponse>()
    let stream = transport.openWatchStream(onEvent: events.record)
    #expect(await events.next() == .opened)
    #expect(await events.next() == .closed(nil))
    stream.send(request(2))
    stream.close()
    await transport.shutdown()
    #expect(events.all == [.opened, .closed(nil)])
    await backend.kill()
  }

  @Test("the status with which a backend ends a stream arrives as it is", arguments: 1...16)
  func statuses(code: Int) async throws {
    let status = try #require(RPCError.Code(Status.Code(rawValue: code) ?? .ok))
    let backend = try await ScriptedBackend.start([
      "Listen": { _ in throw RPCError(code: status, message: "because \(code)") }
    ])
    let transport = try FirestoreTransport(configuration(port: backend.port))
    let events = EventRecorder<WatchResponse>()
    let stream = transport.openWatchStream(onEvent: events.record)
    #expect(await events.next() == .opened)
    let error = try await events.nextError()
    #expect(error.code.rawValue == code)
    #expect(error.message == "because \(code)")
    withExtendedLifetime(stream) {}
    await transport.shutdown()
    await backend.kill()
  }

  @Test(
    "an answer that cannot be understood ends the stream with an error that says what it was",
    arguments: [
      ([0xff, 0xff, 0xff], "3 bytes that are not a google.firestore.v1.ListenResponse"),
      ([], "ListenResponse.response_type"),
      ([0x1a, 0x02, 0x0a, 0x00], "ListenResponse.document_change.document"),
    ] as [([UInt8], String)])
  func garbage(bytes: [UInt8], text: String) async throws {
    let backend = try await ScriptedBackend.start([
      "Listen": { call in
        try await call.responses.write(bytes)
        for try await _ in call.requests {}
      }
    ])
    let transport = try FirestoreTransport(configuration(port: backend.port))
    let events = EventRecorder<WatchResponse>()
    let stream = transport.openWatchStream(onEvent: events.record)
    #expect(await events.next() == .opened)
    let error = try await events.nextError()
    #expect(error.code == .internal)
    #expect(error.message.contains(text), "\(error.message)")
    withExtendedLifetime(stream) {}
    await transport.shutdown()
    await backend.kill()
  }

  @Test("an answer larger than gRPC's usual limit arrives, one above ours is an error")
  func largeMessages() async throws {
    let backend = try await ScriptedBackend.start([
      "Listen": { call in
        for megabytes in [10, 18] {
          try await call.send(
            Google_Firestore_V1_ListenResponse.with {
              $0.targetChange.resumeToken.append(contentsOf: [UInt8](repeating: 7, count: megabytes << 20))
            })
        }
        for try await _ in call.requests {}
      }
    ])
    let transport = try FirestoreTransport(configuration(port: backend.port))
    let events = EventRecorder<WatchResponse>()
    let stream = transport.openWatchStream(onEvent: events.record)
    #expect(await events.next() == .opened)
    guard case .targetChange(let change)? = await events.nextMessage() else {
      Issue.record("the first answer is missing")
      return
    }
    #expect(change.resumeToken.count == 10 << 20)
    #expect(try await events.nextError().code == .internal)
    withExtendedLifetime(stream) {}
    await transport.shutdown()
    await backend.kill()
  }

  @Test("a shutdown ends every stream once and refuses new ones")
  func shutdown() async throws {
    let backend = try await ScriptedBackend.start([
      "Listen": echoTargets, "Write": { for try await _ in $0.requests {} },
    ])
    let transport = try FirestoreTransport(configuration(port: backend.port))
    let watchEvents = EventRecorder<WatchResponse>()
    let writeEvents = EventRecorder<WriteResponse>()
    let watch = transport.openWatchStream(onEvent: watchEvents.record)
    let write = transport.openWriteStream(onEvent: writeEvents.record)
    #expect(await watchEvents.next() == .opened)
    #expect(await writeEvents.next() == .opened)
    await transport.shutdown()
    #expect(watchEvents.all == [.opened, .closed(nil)])
    #expect(writeEvents.all == [.opened, .closed(nil)])
    watch.close()
    write.close()

    let late = EventRecorder<WatchResponse>()
    let stream = transport.openWatchStream(onEvent: late.record)
    #expect(try await late.nextError().code == .cancelled)
    await #expect(throws: StatusError.self) { _ = try await transport.commit([]) }
    withExtendedLifetime(stream) {}
    await transport.shutdown()
    await backend.kill()
  }

  @Test("streams that are opened, used and closed in a hurry end once each, whatever they were doing")
  func hurry() async throws {
    let backend = try await ScriptedBackend.start([
      "Listen": echoTargets, "Write": { for try await _ in $0.requests {} },
    ])
    await withDiscardingTaskGroup { group in
      for round in 0..<40 {
        group.addTask {
          guard let transport = try? FirestoreTransport(configuration(port: backend.port)) else { return }
          let recorders = (0..<4).map { _ in EventRecorder<WatchResponse>() }
          let streams = recorders.map { transport.openWatchStream(onEvent: $0.record) }
          let write = transport.openWriteStream { _ in }
          write.send(.handshake)
          for (index, stream) in streams.enumerated() {
            stream.send(request(TargetID(index)))
            if round.isMultiple(of: 5) {
              _ = await recorders[index].next()
            }
            if round.isMultiple(of: 2) {
              stream.close()
            }
          }
          if round.isMultiple(of: 3) {
            transport.reconnect()
          }
          write.close()
          await transport.shutdown()
          for recorder in recorders {
            let ends = recorder.all.filter { if case .closed = $0 { true } else { false } }
            #expect(ends.count == 1)
            #expect(recorder.all.last == ends.first)
          }
        }
      }
    }
    await backend.kill()
  }
}
