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
      let watch = try await network.run {
        try RouteConnectivity(settling: .seconds(1)).watch { continuation.yield($0) }
      }
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
      let watch = try await network.run { try RouteConnectivity().watch { continuation.yield($0) } }
      defer { watch.end() }
      try await network.ip(
        "link add wire7 type veth peer name wire6", "link set wire6 up", "address add 10.77.0.2/24 dev wire7",
        "link set wire7 up", "address flush dev wire7", "address add 10.77.0.4/24 dev wire7")
      #expect(socket.takeNotices())
      #expect(await received.next() == ConnectivityChange(hasPath: true))
      while socket.takeNotices() {}
      try await network.ip("link set wire7 down")
      #expect(socket.takeNotices())
    }
  }

  /// A network namespace with nothing in it but a loopback interface that is down. It is that of one thread, which runs what
  /// belongs there, and ends with it.
  final class OwnNetwork: Sendable {
    private let bodies = BlockingQueue()

    /// Making namespaces and links is the right of root, and not everywhere.
    static let isPossible: Bool = {
      let answer = BlockingQueue()
      Thread.detachNewThread {
        if enter() && (try? runIP("link add wire7 type veth peer name wire6")) != nil {
          answer.append({})
        } else {
          answer.append(nil)
        }
      }
      return answer.next() != nil
    }()

    struct Failure: Error {
      var description: String
    }

    init() {
      Thread.detachNewThread { [bodies] in
        let isInside = Self.enter()
        precondition(isInside, "OwnNetwork.isPossible was not asked")
        while let body = bodies.next() { body() }
      }
    }

    deinit { bodies.append(nil) }

    /// Runs `body` inside.
    func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
      try await withCheckedThrowingContinuation { continuation in
        bodies.append { continuation.resume(with: Swift.Result { try body() }) }
      }
    }

    /// Runs ip(8) with each of the lines.
    func ip(_ lines: String...) async throws {
      try await run { for line in lines { try Self.runIP(line) } }
    }

    /// Gives the calling thread a network of its own. Swift's Glibc module does not import unshare(2).
    private static func enter() -> Bool {
      guard let symbol = dlsym(nil, "unshare") else { return false }
      let unshare = unsafeBitCast(symbol, to: (@convention(c) (Int32) -> Int32).self)
      let newNetwork: Int32 = 0x4000_0000
      return unshare(newNetwork) == 0
    }

    /// Not by Foundation's Process, which makes sockets that cannot work in here for the whole test run.
    private static func runIP(_ line: String) throws {
      let arguments = ["ip"] + line.split(separator: " ").map(String.init)
      var pointers: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
      defer { for pointer in pointers { free(pointer) } }
      var child: pid_t = 0
      guard posix_spawnp(&child, "ip", nil, nil, &pointers, environ) == 0 else { throw Failure(description: "no ip") }
      var status: Int32 = 0
      while waitpid(child, &status, 0) < 0, errno == EINTR {}
      guard status == 0 else { throw Failure(description: "ip \(line): \(status)") }
    }
  }

  /// Hands work from many threads to one, which waits for it.
  private final class BlockingQueue: @unchecked Sendable {
    /// Held whenever `bodies` is touched, which makes the class safe to share.
    private let condition = NSCondition()
    private var bodies: [(@Sendable () -> Void)?] = []

    /// - Parameter body: Nil for the end.
    func append(_ body: (@Sendable () -> Void)?) {
      condition.withLock { bodies.append(body) }
      condition.signal()
    }

    func next() -> (@Sendable () -> Void)? {
      condition.lock()
      defer { condition.unlock() }
      while bodies.isEmpty { condition.wait() }
      return bodies.removeFirst()
    }
  }
#endif
