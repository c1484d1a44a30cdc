import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A port that forwards to another, and can stop to do so without closing anything, like a network that went away, or close
/// every connection at once, like a machine without the backend.
package final class StallingProxy: Sendable {
  private struct State {
    /// Connections in both directions; an end is one socket.
    var ends: [Int32] = []
    var stalled: Set<Int32> = []
    var isRefusing = false
    var isClosed = false
    var bytesFromBackend = 0
    var closedByClientCount = 0
  }

  package let host: String
  private let listener: Int32
  private let target: UInt16
  private let state = Mutex(State())

  /// - Parameter backend: "127.0.0.1:PORT".
  package init(to backend: String) throws {
    guard let port = backend.split(separator: ":").last.flatMap({ UInt16($0) }) else {
      throw CocoaError(.formatting, userInfo: [NSDebugDescriptionErrorKey: "no port in \(backend)"])
    }
    target = port
    listener = socket(AF_INET, Self.stream, 0)
    var address = Self.address(port: 0)
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = listener
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, size) == 0 && listen(descriptor, 64) == 0
          && getsockname(descriptor, address, &size) == 0
      }
    }
    host = "127.0.0.1:\(UInt16(bigEndian: address.sin_port))"
    guard descriptor >= 0, isBound else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    Thread.detachNewThread { [self] in acceptConnections() }
  }

  /// The bytes that the backend has sent on all connections, as far as the proxy has read them.
  package var bytesFromBackend: Int { state.withLock(\.bytesFromBackend) }

  /// The connections that clients have closed until now, stalled ones included.
  package var closedByClientCount: Int { state.withLock(\.closedByClientCount) }

  /// The port of `host`.
  package var port: Int { host.split(separator: ":").last.flatMap { Int($0) } ?? 0 }

  /// The connections that exist now carry nothing any more. Later ones work.
  package func stall() {
    state.withLock { $0.stalled.formUnion($0.ends) }
  }

  /// Decides what becomes of later connections.
  package func refuse(_ isRefusing: Bool) {
    state.withLock { $0.isRefusing = isRefusing }
  }

  /// Ends everything.
  package func close() {
    state.withLock { state in
      state.isClosed = true
      for end in [listener] + state.ends { _ = shutdown(end, Int32(SHUT_RDWR)) }
    }
  }

  private func acceptConnections() {
    while true {
      let client = accept(listener, nil, nil)
      guard client >= 0 else { break }
      if state.withLock(\.isRefusing) {
        closeDescriptor(client)
        continue
      }
      let backend = socket(AF_INET, Self.stream, 0)
      var address = Self.address(port: target)
      let size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let isConnected = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(backend, $0, size) == 0 }
      }
      let isWanted = state.withLock { state in
        guard isConnected, !state.isClosed else { return false }
        state.ends += [client, backend]
        return true
      }
      guard isWanted else {
        _ = shutdown(client, Int32(SHUT_RDWR))
        continue
      }
      Thread.detachNewThread { [self] in
        forward(from: client, to: backend) { _, _ in }
        state.withLock { $0.closedByClientCount += 1 }
      }
      Thread.detachNewThread { [self] in forward(from: backend, to: client) { $0.bytesFromBackend += $1 } }
    }
  }

  private func forward(
    from source: Int32, to sink: Int32, counting: @Sendable (inout State, Int) -> Void
  ) {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(source, &buffer, buffer.count, 0)
      guard count > 0 else { break }
      // Bytes that arrive on a stalled connection are lost, and so is its end.
      let isStalled = state.withLock { state in
        counting(&state, count)
        return state.stalled.contains(source)
      }
      if isStalled { continue }
      var sent = 0
      while sent < count {
        let step = buffer.withUnsafeBytes { send(sink, $0.baseAddress! + sent, count - sent, Self.sendFlags) }
        guard step > 0 else { return }
        sent += step
      }
    }
    if !state.withLock({ $0.stalled.contains(source) }) { _ = shutdown(sink, Int32(SHUT_WR)) }
  }

  private static var stream: Int32 {
    #if canImport(Darwin)
      SOCK_STREAM
    #else
      Int32(SOCK_STREAM.rawValue)
    #endif
  }

  /// A peer that is gone is an error of `send`, not a signal.
  private static var sendFlags: Int32 {
    #if canImport(Darwin)
      0
    #else
      Int32(MSG_NOSIGNAL)
    #endif
  }

  private static func address(port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    return address
  }
}

private func closeDescriptor(_ descriptor: Int32) {
  _ = close(descriptor)
}
