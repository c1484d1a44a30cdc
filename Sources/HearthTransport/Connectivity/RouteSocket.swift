#if os(Linux) || os(Android)
  #if canImport(Glibc)
    internal import Glibc
  #elseif canImport(Musl)
    internal import Musl
  #elseif canImport(Android)
    internal import Android
  #endif

  /// A netlink socket for links, addresses and routes. It is closed with its last reference.
  final class RouteSocket: Sendable {
    /// The groups of notices that a socket receives (RTMGRP_ of linux/rtnetlink.h).
    struct Groups: OptionSet {
      var rawValue: UInt32

      static let links = Groups(rawValue: 0x1)
      static let addresses = Groups(rawValue: 0x10 | 0x100)
      static let routes = Groups(rawValue: 0x40 | 0x400)
      static let everything: Groups = [.links, .addresses, .routes]
    }

    let descriptor: Int32

    // AF_NETLINK, SOCK_RAW and NETLINK_ROUTE, which the C library's module does not import, or imports as an enumeration.
    private static let family: Int32 = 16
    private static let rawKind: Int32 = 3
    private static let routeProtocol: Int32 = 0

    init(hearing groups: Groups) throws(ConnectivityError) {
      // The flags of `socket` have the values of those of `open`.
      descriptor = socket(Self.family, Self.rawKind | O_CLOEXEC | O_NONBLOCK, Self.routeProtocol)
      guard descriptor >= 0 else { throw Self.error("a netlink socket cannot be opened") }
      // struct sockaddr_nl: family, padding, port (0: the kernel chooses), groups.
      let address = [UInt32(UInt16(Self.family)).inStructOrder, 0, groups.rawValue]
      let result = address.withUnsafeBytes { bytes in
        bytes.withMemoryRebound(to: sockaddr.self) { bind(descriptor, $0.baseAddress, socklen_t(bytes.count)) }
      }
      guard result == 0 else { throw Self.error("a netlink socket cannot be bound") }
    }

    deinit {
      if descriptor >= 0 { close(descriptor) }
    }

    /// Reads all pending notices. Returns true if one concerns the routes out of the machine, or if some were lost.
    func takeNotices() -> Bool {
      var concerns = false
      // Bounded, so that a flood of notices does not hold the queue: the event source fires again for the rest.
      for _ in 0..<256 {
        switch receive() {
        case .bytes(let bytes): concerns = RouteDatagram(bytes).concernsPaths || concerns
        case .nothing: return concerns
        // ENOBUFS: more notices arrived than the socket can hold.
        case .failed: return true
        }
      }
      return concerns
    }

    /// Asks the kernel for the ways out of the machine.
    func paths() throws(ConnectivityError) -> NetworkPaths {
      var messages: [RouteMessage] = []
      for (number, type) in [
        RouteDatagram.Number.getLink, RouteDatagram.Number.getAddress, RouteDatagram.Number.getRoute,
      ].enumerated() {
        messages += try ask(type, sequence: UInt32(number + 1))
      }
      return NetworkPaths(messages)
    }

    private func ask(_ type: UInt16, sequence: UInt32) throws(ConnectivityError) -> [RouteMessage] {
      // struct nlmsghdr: length, type and flags (NLM_F_REQUEST | NLM_F_DUMP), sequence, port; then struct rtgenmsg: family 0, for all.
      let flags: UInt16 = 0x1 | 0x300
      var request: [UInt8] = []
      withUnsafeBytes(of: UInt32(20)) { request += $0 }
      withUnsafeBytes(of: type) { request += $0 }
      withUnsafeBytes(of: flags) { request += $0 }
      withUnsafeBytes(of: sequence) { request += $0 }
      request += [UInt8](repeating: 0, count: 8)
      // Messages left from an earlier request whose answer was given up.
      while case .bytes = receive() {}
      guard send(descriptor, request, request.count, 0) == request.count else {
        throw Self.error("a netlink request cannot be sent")
      }
      var messages: [RouteMessage] = []
      while true {
        // The kernel has the beginning of the answer ready before `send` returns, and each further part before the previous one is read.
        guard case .bytes(let bytes) = receive() else { throw Self.error("a netlink answer is not complete") }
        let datagram = RouteDatagram(bytes)
        guard !datagram.isDamaged else { throw ConnectivityError("a netlink answer is damaged") }
        for message in datagram.messages {
          switch message {
          case .done: return messages
          case .failed(let code): throw ConnectivityError("a netlink request was refused (\(Self.text(of: code)))")
          default: messages.append(message)
          }
        }
      }
    }

    private enum Received {
      case bytes([UInt8])
      case nothing
      case failed
    }

    /// The kernel's datagrams have at most 32 KiB.
    private static let datagramLimit = 1 << 16

    private func receive() -> Received {
      while true {
        var count = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.datagramLimit) { buffer, used in
          count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
          used = max(0, count)
        }
        if count > 0 { return .bytes(bytes) }
        if count == 0 { return .nothing }
        switch errno {
        case EINTR: continue
        case EAGAIN: return .nothing
        default: return .failed
        }
      }
    }

    private static func error(_ what: String) -> ConnectivityError {
      ConnectivityError("\(what) (\(text(of: errno)))")
    }

    private static func text(of code: Int32) -> String { String(cString: strerror(code)) }
  }

  extension UInt32 {
    /// This number as a sixteen-bit one, followed by two bytes of zero.
    fileprivate var inStructOrder: UInt32 {
      #if _endian(big)
        self << 16
      #else
        self
      #endif
    }
  }
#endif
