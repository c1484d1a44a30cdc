import HearthModel
import NIOCore
import Synchronization
import TestSupport
import Testing

@testable import HearthRPC

@Suite("Outlets of calls")
struct CallOutletTests {
  /// An outlet that is no connection.
  private final class Outlet: CallOutlet {
    private let wakes = Mutex(0)

    var wakeCount: Int { wakes.withLock { $0 } }

    func wake(_ call: ServerCall) { wakes.withLock { $0 += 1 } }
  }

  @Test("a call wakes its outlet for responses and for its end, and goes on when the outlet has sent enough")
  func wakes() async throws {
    var limits = ServerLimits()
    limits.queuedBytesPerStream = 10
    let outlet = Outlet()
    let call = ServerCall(
      number: 7, method: .answered, metadata: CallMetadata(), transcoder: nil, load: ServerLoad(limits: limits),
      outlet: outlet, share: ConnectionShare())
    try await call.send([1, 2, 3], isHeldBack: false)
    #expect(outlet.wakeCount == 1)
    #expect(Array(call.takeOutput().bytes.readableBytesView) == [0, 0, 0, 0, 3, 1, 2, 3])
    call.accepted(8)
    // More than may wait: the task goes on when the outlet reports that the bytes are gone.
    async let sent: Void = call.send(Array(repeating: 4, count: 20), isHeldBack: true)
    try await waitUntil { outlet.wakeCount == 2 }
    let bytes = call.takeOutput().bytes.readableBytes
    #expect(bytes == 25)
    call.accepted(bytes)
    try await sent
    call.finish(.ok)
    #expect(outlet.wakeCount == 3)
    #expect(call.takeOutput().end?.code == .ok)
  }
}
