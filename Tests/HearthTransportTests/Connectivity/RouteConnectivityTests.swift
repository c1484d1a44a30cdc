#if os(Linux)
  import Foundation
  import Glibc
  import TestSupport
  import Testing

  @testable import HearthTransport

  /// The kernel's own notices.
  @Suite("The network as Linux reports it", .timeLimit(.minutes(1)))
  struct RouteConnectivityTests {
    @Test("a watch ends without leaving anything behind")
    func ends() async throws {
      final class Token: Sendable {}
      weak var token: Token?
      do {
        let held = Token()
        token = held
        let watch = try RouteConnectivity().watch { [held] _ in _ = held }
        watch.end()
        watch.end()
      }
      // The sockets belong to the same object as the callback.
      try await waitUntil { token == nil }
    }

    @Test(
      "a link that comes, with address and route, is one change, and so is its end; a container's bridge is none",
      .enabled(if: OwnNetwork.isPossible, "needs the rights to make a network namespace, and the program ip"))
    func realLink() async throws {
      let (changes, continuation) = AsyncStream.makeStream(of: ConnectivityChange.self)
      var received = changes.makeAsyncIterator()
      let network = OwnNetwork()
      // A second is long enough for all of a burst that several processes make.
      let (notices, questions) = try await network.run {
        (try RouteSocket(hearing: .everything), try RouteSocket(hearing: []))
      }
      let watch = try RouteConnectivity(settling: .seconds(1)).watch(notices, questions) { continuation.yield($0) }
      defer { watch.end() }
      try await network.ip(
        "link add wire7 type veth peer name wire6", "link set wire6 up", "address add 10.77.0.2/24 dev wire7",
        "link set wire7 up", "route add default via 10.77.0.1")
      #expect(await received.next() == ConnectivityChange(hasPath: true))

      let before = try await network.run { try RouteSocket(hearing: []).paths() }
      #expect(before.ways.count == 1 && before.addresses.count == 1)
      try await network.ip(
        "link add bridge7 type bridge", "address add 10.78.0.1/24 dev bridge7", "link set bridge7 up",
        "link add name veth7 type veth peer name veth8", "link set veth7 master bridge7", "link set veth7 up",
        "link set veth8 up", "route add 10.79.0.0/16 via 10.77.0.9", "address add 10.77.0.3/24 dev wire7")
      let after = try await network.run { try RouteSocket(hearing: []).paths() }
      #expect(!after.differs(from: before))

      try await network.ip("link set bridge7 down", "link set wire7 down")
      #expect(await received.next() == ConnectivityChange(hasPath: false))
      continuation.finish()
      #expect(await received.next() == nil)
      try await waitUntil { try OwnNetwork.isEmpty }
    }

    @Test(
      "more notices than a socket takes are a reason to look, not an end",
      .enabled(if: OwnNetwork.isPossible, "needs the rights to make a network namespace, and the program ip"))
    func overflow() async throws {
      let (changes, continuation) = AsyncStream.makeStream(of: ConnectivityChange.self)
      var received = changes.makeAsyncIterator()
      let network = OwnNetwork()
      let socket = try await network.run {
        let socket = try RouteSocket(hearing: .everything)
        var size: Int32 = 1
        let length = socklen_t(MemoryLayout<Int32>.size)
        try #require(setsockopt(socket.descriptor, SOL_SOCKET, SO_RCVBUF, &size, length) == 0)
        return socket
      }
      #expect(!socket.takeNotices())
      let (notices, questions) = try await network.run {
        (try RouteSocket(hearing: .everything), try RouteSocket(hearing: []))
      }
      let watch = try RouteConnectivity().watch(notices, questions) { continuation.yield($0) }
      defer { watch.end() }
      try await network.ip(
        "link add wire7 type veth peer name wire6", "link set wire6 up", "address add 10.77.0.2/24 dev wire7",
        "link set wire7 up", "address flush dev wire7", "address add 10.77.0.4/24 dev wire7")
      #expect(socket.takeNotices())
      #expect(await received.next() == ConnectivityChange(hasPath: true))
      while socket.takeNotices() {}
      try await network.ip("link set wire7 down")
      #expect(socket.takeNotices())
      try await waitUntil { try OwnNetwork.isEmpty }
    }
  }
#endif
