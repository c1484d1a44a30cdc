import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A port where connections are made and nothing is ever answered.
final class SilentBackend: Sendable {
  let host: String
  private let descriptor: Int32

  init() throws {
    #if canImport(Darwin)
      let stream = SOCK_STREAM
    #else
      let stream = Int32(SOCK_STREAM.rawValue)
    #endif
    let descriptor = socket(AF_INET, stream, 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, size) == 0 && listen(descriptor, 64) == 0
          && getsockname(descriptor, address, &size) == 0
      }
    }
    self.descriptor = descriptor
    host = "127.0.0.1:\(UInt16(bigEndian: address.sin_port))"
    try #require(descriptor >= 0 && isBound)
  }

  deinit { close(descriptor) }
}
