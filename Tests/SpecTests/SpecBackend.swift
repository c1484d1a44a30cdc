import HearthModel
import HearthSync

/// The mock streams: what the client last asked for, and how often it asked.
struct SpecBackend {
  private(set) var watchStream: StreamID?
  private(set) var writeStream: StreamID?
  /// The targets as last requested on the wire, not as the client knows them now.
  private(set) var targets: [TargetID: TargetRequest] = [:]
  /// Batches that no step has looked at yet.
  private var writeRequests: [[Mutation]] = []
  private(set) var watchRequestCount = 0
  private(set) var writeRequestCount = 0

  /// Does what the client asks of the network.
  ///
  /// - Returns: The events that follow from it at once; nil if the action is not about the network.
  mutating func carryOut(_ action: SyncAction) throws -> [SyncEvent]? {
    switch action {
    case .openWatchStream(let id):
      guard watchStream == nil else { throw SpecFailure("a second watch stream is opened") }
      watchStream = id
      return [.watchStreamOpened(id)]
    case .closeWatchStream:
      breakWatchStream()
    case .sendWatch(let id, let request):
      guard id == watchStream else { throw SpecFailure("request \(request) on a watch stream that is not open") }
      send(request)
    case .openWriteStream(let id):
      guard writeStream == nil else { throw SpecFailure("a second write stream is opened") }
      writeStream = id
      return [.writeStreamOpened(id)]
    case .closeWriteStream(let id):
      // The mock answers nothing more on a stream that is closed.
      breakWriteStream()
      return [.writeStreamClosed(id, nil)]
    case .sendWrite(let id, let request):
      guard id == writeStream else { throw SpecFailure("request \(request) on a write stream that is not open") }
      return send(request, on: id)
    default:
      return nil
    }
    return []
  }

  private mutating func send(_ request: WatchRequest) {
    switch request {
    case .addTarget(let target):
      watchRequestCount += 1
      targets[target.targetID] = target
    case .removeTarget(let id):
      targets[id] = nil
    }
  }

  private mutating func send(_ request: WriteRequest, on id: StreamID) -> [SyncEvent] {
    writeRequestCount += 1
    switch request {
    case .handshake:
      return [.writeStreamMessage(id, WriteResponse(streamToken: Array("write-stream-token-0".utf8)))]
    case .writes(let mutations, _, _):
      // An orderly close says goodbye with an empty request.
      if !mutations.isEmpty { writeRequests.append(mutations) }
      return []
    }
  }

  mutating func breakWatchStream() {
    watchStream = nil
    targets = [:]
  }

  mutating func breakWriteStream() {
    writeStream = nil
    writeRequests = []
  }

  mutating func reject(_ id: TargetID) throws {
    guard targets.removeValue(forKey: id) != nil else {
      throw SpecFailure("target \(id) is rejected but was not asked for")
    }
  }

  mutating func takeWriteRequest() throws -> [Mutation] {
    guard !writeRequests.isEmpty else { throw SpecFailure("no request waits on the write stream") }
    return writeRequests.removeFirst()
  }
}
