import HearthModel
import Synchronization

@testable import HearthServer

/// A listen stream that works only when it is woken or gets a request, as the server's streams do: nothing else brings it up to date.
final class WokenStream: Sendable {
  private enum Event: Sendable {
    case wake
    case add(Query, TargetID)
  }

  private struct Counts {
    var posted = 0
    var handled = 0
    var failures: [String] = []
  }

  private final class Ledger: Sendable {
    let counts = Mutex(Counts())
  }

  let stream: ViewedStream
  private let ledger = Ledger()
  private let events: AsyncStream<Event>.Continuation

  init(_ fixture: any ListenedFixture) {
    let (events, continuation) = AsyncStream.makeStream(of: Event.self)
    let stream = ViewedStream(fixture) { [ledger] in
      ledger.counts.withLock { $0.posted += 1 }
      continuation.yield(.wake)
    }
    self.stream = stream
    self.events = continuation
    Task { [ledger] in
      for await event in events {
        do {
          if case .add(let query, let id) = event { try await stream.add(query, id: id) }
          try await stream.catchUp()
        } catch {
          ledger.counts.withLock { $0.failures.append("\(error)") }
        }
        ledger.counts.withLock { $0.handled += 1 }
      }
    }
  }

  func add(_ query: Query, id: TargetID) {
    ledger.counts.withLock { $0.posted += 1 }
    events.yield(.add(query, id))
  }

  var failures: [String] { ledger.counts.withLock { $0.failures } }

  func close() async {
    events.finish()
    await stream.close()
  }

  /// Returns true if none of the streams has anything to do. A stream may wake others, so they are looked at twice.
  static func areQuiet(_ streams: [WokenStream]) -> Bool {
    func handled() -> [Int]? {
      let counts = streams.map { $0.ledger.counts.withLock { ($0.posted, $0.handled) } }
      return counts.allSatisfy { $0 == $1 } ? counts.map(\.1) : nil
    }
    guard let first = handled() else { return false }
    return handled() == first
  }
}
