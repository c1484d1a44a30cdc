import NIOCore
import Testing

@testable import HearthRPC

@Suite("The network of a client")
struct ClientNetworkTests {
  @Test(
    "addresses that one client has for itself are the same",
    arguments: [
      ["192.0.2.1", "::ffff:192.0.2.1"], ["2001:db8::1", "2001:db8::ffff:1", "2001:db8:0:0:ffff:ffff:ffff:ffff"],
    ])
  func same(_ texts: [String]) throws {
    let networks = try texts.map { try #require(ClientNetwork(numericHost: $0)) }
    #expect(Set(networks).count == 1)
  }

  @Test("others are different")
  func different() throws {
    let texts = [
      "192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8:0:1::1", "::1", "0.0.0.1", "::c000:201:0:0:0:0", "64:ff9b::1",
    ]
    let networks = try texts.map { try #require(ClientNetwork(numericHost: $0)) }
    #expect(Set(networks).count == texts.count)
  }

  @Test("it is read from the address of a connection, which may have none")
  func connections() throws {
    let address = try SocketAddress(ipAddress: "2001:db8::7", port: 4711)
    #expect(ClientNetwork(address) == ClientNetwork(numericHost: "2001:db8::8"))
    #expect(try ClientNetwork(SocketAddress(unixDomainSocketPath: "/tmp/socket")) == nil)
    #expect(ClientNetwork(nil) == nil)
    #expect(ClientNetwork(numericHost: "example.com") == nil)
  }
}
