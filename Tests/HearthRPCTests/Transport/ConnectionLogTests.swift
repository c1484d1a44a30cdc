import NIOCore
import TestSupport
import Testing

@testable import HearthRPC

@Suite("The log of connections that the server ends")
struct ConnectionLogTests {
  @Test("many of them are one line of each kind, with the address and the reason")
  func pace() throws {
    let recorder = LogRecorder()
    let log = ConnectionLog(recorder.logger)
    let address = try SocketAddress(ipAddress: "192.0.2.7", port: 1)
    for _ in 0..<100 {
      log.exceeded("too many resets", by: address)
      log.silent(address)
    }
    #expect(
      recorder.lines == [
        "notice connection ended: it exceeded a limit of connections address=192.0.2.7 reason=too many resets",
        "info connection closed: the client is silent address=192.0.2.7 reason=it has not answered a ping in time",
      ])
  }
}
