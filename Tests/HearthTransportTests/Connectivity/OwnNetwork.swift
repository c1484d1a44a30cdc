#if os(Linux)
  import Foundation
  import Glibc

  /// A network namespace with nothing in it but a loopback interface that is down.
  ///
  /// One thread enters it for each body and leaves it before anything else runs. A thread that it starts inside would stay there, also a
  /// thread of Dispatch's pool, which then has no network for whatever runs on it later.
  final class OwnNetwork: Sendable {
    /// Nil ends the thread.
    private let bodies = BlockingQueue<(@Sendable (Namespace) -> Void)?>()

    /// Making namespaces and links is the right of root, and not everywhere.
    static let isPossible: Bool = {
      let answer = BlockingQueue<Bool>()
      Thread.detachNewThread {
        answer.append((try? Namespace().run { try runIP("link add wire7 type veth peer name wire6") }) != nil)
      }
      return answer.next()
    }()

    struct Failure: Error {
      var description: String
    }

    init() {
      Thread.detachNewThread { [bodies] in
        guard let namespace = try? Namespace() else { preconditionFailure("OwnNetwork.isPossible was not asked") }
        while let body = bodies.next() { body(namespace) }
      }
    }

    deinit { bodies.append(nil) }

    /// Runs `body` inside. It must not start a thread, or resume a task.
    func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
      try await withCheckedThrowingContinuation { continuation in
        bodies.append { namespace in
          let result = Swift.Result { try namespace.run(body) }
          continuation.resume(with: result)
        }
      }
    }

    /// True if every thread of this process is in the network of the process.
    static var isEmpty: Bool {
      get throws {
        let files = FileManager.default
        let own = try files.destinationOfSymbolicLink(atPath: "/proc/self/ns/net")
        // A thread that has ended since has no file.
        return try files.contentsOfDirectory(atPath: "/proc/self/task").allSatisfy { thread in
          ((try? files.destinationOfSymbolicLink(atPath: "/proc/self/task/\(thread)/ns/net")) ?? own) == own
        }
      }
    }

    /// Runs ip(8) with each of the lines.
    func ip(_ lines: String...) async throws {
      try await run { for line in lines { try Self.runIP(line) } }
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

  /// The namespace that a thread has made, and the one that it comes from. Only for that thread.
  private struct Namespace {
    private let (outside, inside): (FileHandle, FileHandle)

    init() throws {
      outside = try Self.current()
      try Self.unshare()
      inside = try Self.current()
      try leave()
    }

    func run<Result>(_ body: () throws -> Result) throws -> Result {
      try Self.join(inside)
      let result = Swift.Result { try body() }
      try leave()
      return try result.get()
    }

    private func leave() throws { try Self.join(outside) }

    private static let networks: Int32 = 0x4000_0000

    private static func current() throws -> FileHandle {
      try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/thread-self/ns/net"))
    }

    // Swift's Glibc module does not import unshare(2) and setns(2).

    private static func unshare() throws {
      typealias Function = @convention(c) (Int32) -> Int32
      guard let symbol = dlsym(nil, "unshare"), unsafeBitCast(symbol, to: Function.self)(networks) == 0 else {
        throw OwnNetwork.Failure(description: "unshare: \(String(cString: strerror(errno)))")
      }
    }

    private static func join(_ namespace: FileHandle) throws {
      typealias Function = @convention(c) (Int32, Int32) -> Int32
      guard let symbol = dlsym(nil, "setns"),
        unsafeBitCast(symbol, to: Function.self)(namespace.fileDescriptor, networks) == 0
      else { throw OwnNetwork.Failure(description: "setns: \(String(cString: strerror(errno)))") }
    }
  }

  /// Hands values from many threads to one, which waits for them. Starts no thread.
  private final class BlockingQueue<Element: Sendable>: @unchecked Sendable {
    /// Held whenever `elements` is touched, which makes the class safe to share.
    private let condition = NSCondition()
    private var elements: [Element] = []

    func append(_ element: Element) {
      condition.withLock { elements.append(element) }
      condition.signal()
    }

    func next() -> Element {
      condition.lock()
      defer { condition.unlock() }
      while elements.isEmpty { condition.wait() }
      return elements.removeFirst()
    }
  }
#endif
