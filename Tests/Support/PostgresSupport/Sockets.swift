#if PostgreSQL
  internal import Foundation

  #if canImport(Darwin)
    internal import Darwin
  #elseif canImport(Glibc)
    internal import Glibc
  #elseif canImport(Musl)
    internal import Musl
  #endif

  /// Blocking sockets of 127.0.0.1.
  enum Sockets {
    /// A socket that listens on a free port.
    static func listen() throws -> Int32 {
      let descriptor = make()
      let isListening = withAddress(port: 0) { bind(descriptor, $0, $1) == 0 } && listenOn(descriptor)
      guard descriptor >= 0, isListening else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
      return descriptor
    }

    static func port(of descriptor: Int32) throws -> Int {
      var address = sockaddr_in()
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let status = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
      }
      guard status == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
      return Int(UInt16(bigEndian: address.sin_port))
    }

    /// - Returns: Nil when the socket was shut down.
    static func accept(_ listener: Int32) -> Int32? {
      let descriptor = acceptOn(listener)
      return descriptor < 0 ? nil : descriptor
    }

    static func connect(to port: Int) -> Int32? {
      let descriptor = make()
      if withAddress(port: port, { connectTo(descriptor, $0, $1) == 0 }) { return descriptor }
      close(descriptor)
      return nil
    }

    /// - Returns: The number of bytes; nil at the end of the connection.
    static func receive(_ descriptor: Int32, _ buffer: inout [UInt8]) -> Int? {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      return count > 0 ? count : nil
    }

    static func send(_ descriptor: Int32, _ bytes: ArraySlice<UInt8>) -> Bool {
      bytes.withUnsafeBytes { bytes in
        var sent = 0
        while sent < bytes.count {
          let step = sendTo(descriptor, bytes.baseAddress.map { $0 + sent }, bytes.count - sent)
          guard step > 0 else { return false }
          sent += step
        }
        return true
      }
    }

    /// Ends the connections in both directions. Their descriptors stay open until no thread uses them.
    static func cut(_ descriptors: Int32...) {
      for descriptor in descriptors { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }
    }

    static func close(_ descriptors: Int32...) {
      for descriptor in descriptors { closeDescriptor(descriptor) }
    }

    private static func make() -> Int32 {
      #if canImport(Darwin)
        let type = SOCK_STREAM
      #else
        let type = Int32(SOCK_STREAM.rawValue)
      #endif
      let descriptor = socket(AF_INET, type, 0)
      // What servers and programs of other tests inherit would keep the connection open.
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      return descriptor
    }

    private static func withAddress<Result>(
      port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = UInt16(port).bigEndian
      address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
      return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
    }
  }

  // Members of `Sockets` have the names of these functions.

  private func listenOn(_ descriptor: Int32) -> Bool { listen(descriptor, 256) == 0 }

  private func acceptOn(_ listener: Int32) -> Int32 {
    let descriptor = accept(listener, nil, nil)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    return descriptor
  }

  private func connectTo(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ size: socklen_t) -> Int32 {
    connect(descriptor, address, size)
  }

  private func sendTo(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    // A peer that is gone is an error, not a signal.
    #if canImport(Darwin)
      send(descriptor, bytes, count, 0)
    #else
      send(descriptor, bytes, count, Int32(MSG_NOSIGNAL))
    #endif
  }

  private func closeDescriptor(_ descriptor: Int32) { _ = close(descriptor) }
#endif
