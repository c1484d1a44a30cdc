import NIOCore
import NIOEmbedded
import NIOHTTP2
import Testing

@testable import HearthRPC

@Suite("Inputs of a call")
struct CallInputTests {
  @Test("requests come before signals, so that a stream with ever new commits still serves them; the end comes last")
  func order() async throws {
    let call = ServerCall(
      number: 1, method: .answered, metadata: CallMetadata(), transcoder: nil,
      load: ServerLoad(limits: ServerLimits()),
      outlet: CallOutbox(eventLoop: EmbeddedEventLoop()), share: ConnectionShare())
    call.post(.wake)
    call.post(.refresh)
    call.deliver(ByteBuffer(string: "first"))
    call.deliver(ByteBuffer(string: "second"))
    call.deliverEnd()
    var inputs: [String] = []
    for _ in 0..<4 {
      switch try await call.nextInput() {
      case .message(let bytes): inputs.append(String(buffer: bytes))
      case .signals(let signals): inputs.append("signals \(signals.rawValue)")
      case .end: inputs.append("end")
      }
    }
    #expect(inputs == ["first", "second", "signals 3", "end"])
  }
}
