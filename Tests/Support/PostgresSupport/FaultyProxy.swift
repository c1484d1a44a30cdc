#if PostgreSQL
  internal import Foundation
  internal import Synchronization

  #if canImport(Darwin)
    internal import Darwin
  #elseif canImport(Glibc)
    internal import Glibc
  #elseif canImport(Musl)
    internal import Musl
  #endif

  /// A port that forwards to a server, or to several in turn, and can cut or stall its connections at any byte.
  package final class FaultyProxy: Sendable {
    package enum Fault: Sendable {
      /// Both sides see the end of the connection.
      case cut
      /// The connection stays open, and carries nothing any more in either direction.
      case stall
      /// The next byte arrives with all its bits changed. Everything else passes.
      case flip
    }

    package enum Direction: Sendable {
      case toServer
      case toClient
    }

    private struct Plan {
      var fault: Fault
      var direction: Direction
      var byteCount: Int
    }

    private struct Link {
      var client: Int32
      var server: Int32
      /// The fault to come, with the bytes that still pass before it.
      var plan: Plan?
      var isStalled = false
      var bytesToServer = 0
      var bytesToClient = 0
      /// The directions that are forwarded.
      var openCount = 2

      mutating func admit(_ count: Int, _ direction: Direction) -> Admission {
        var admission = Admission(count: count)
        if let plan, plan.direction == direction {
          let remaining = plan.byteCount - count
          self.plan?.byteCount = max(remaining, 0)
          if remaining < 0 {
            switch plan.fault {
            case .cut, .stall:
              admission.count = plan.byteCount
              isStalled = true
              admission.isLast = plan.fault == .cut
            case .flip:
              admission.flipped = plan.byteCount
              self.plan = nil
            }
          }
        }
        switch direction {
        case .toServer: bytesToServer += admission.count
        case .toClient: bytesToClient += admission.count
        }
        return admission
      }
    }

    private struct State {
      var links: [Int: Link] = [:]
      var linkCount = 0
      /// The plan of later connections.
      var plan: Plan?
      var isRefusing = false
      var refusedCount = 0
      var isClosed = false
      /// False once the listener's descriptor is closed. Another socket may have its number then.
      var isListening = true
    }

    package let port: Int
    private let serverPorts: [Int]
    private let listener: Int32
    private let state = Mutex(State())

    /// - Parameter serverPort: A port of 127.0.0.1.
    package convenience init(to serverPort: Int) throws { try self.init(toEachOf: [serverPort]) }

    /// - Parameter serverPorts: Ports of 127.0.0.1. Each connection goes to the one after that of the connection before.
    package init(toEachOf serverPorts: [Int]) throws {
      self.serverPorts = serverPorts
      listener = try Sockets.listen()
      port = try Sockets.port(of: listener)
      Thread.detachNewThread { [self] in acceptConnections() }
    }

    // MARK: - Faults

    /// Lets so many further bytes pass on each connection that exists now, before the fault happens there.
    ///
    /// - Parameter byteCount: 0 for the next byte.
    package func plan(_ fault: Fault, _ direction: Direction, afterBytes byteCount: Int) {
      let plan = Plan(fault: fault, direction: direction, byteCount: byteCount)
      state.withLock { state in
        for id in state.links.keys { state.links[id]?.plan = plan }
      }
    }

    /// Lets so many bytes pass on each later connection.
    package func planForNew(_ fault: Fault, _ direction: Direction, afterBytes byteCount: Int) {
      state.withLock { $0.plan = Plan(fault: fault, direction: direction, byteCount: byteCount) }
    }

    /// No fault happens any more on connections that have had none.
    package func clearPlans() {
      state.withLock { state in
        state.plan = nil
        for id in state.links.keys { state.links[id]?.plan = nil }
      }
    }

    /// Cuts all connections that exist now.
    package func cutAll() {
      state.withLock { state in
        for link in state.links.values { Sockets.cut(link.client, link.server) }
      }
    }

    /// Connections that exist now carry nothing any more.
    package func stallAll() {
      state.withLock { state in
        for id in state.links.keys { state.links[id]?.isStalled = true }
      }
    }

    /// Decides if later connections are closed at once.
    package func refuse(_ isRefusing: Bool) { state.withLock { $0.isRefusing = isRefusing } }

    /// The bytes that have passed on the connection that was opened last.
    package var lastByteCounts: (toServer: Int, toClient: Int) {
      state.withLock { state in
        let link = state.links[state.linkCount - 1]
        return (link?.bytesToServer ?? 0, link?.bytesToClient ?? 0)
      }
    }

    /// The connections that were forwarded, and those that were refused by ``refuse(_:)``.
    package var connectionCounts: (forwarded: Int, refused: Int) { state.withLock { ($0.linkCount, $0.refusedCount) } }

    /// Ends everything.
    package func close() {
      state.withLock { state in
        state.isClosed = true
        if state.isListening { Sockets.cut(listener) }
        for link in state.links.values { Sockets.cut(link.client, link.server) }
      }
    }

    // MARK: - Forwarding

    private func acceptConnections() {
      var turn = 0
      while let client = Sockets.accept(listener) {
        let serverPort = serverPorts[turn % serverPorts.count]
        turn += 1
        let isRefused = state.withLock { state in
          if state.isRefusing { state.refusedCount += 1 }
          return state.isRefusing
        }
        guard !isRefused, let server = Sockets.connect(to: serverPort) else {
          Sockets.close(client)
          continue
        }
        let id = state.withLock { state -> Int? in
          guard !state.isClosed else { return nil }
          defer { state.linkCount += 1 }
          state.links[state.linkCount] = Link(client: client, server: server, plan: state.plan)
          return state.linkCount
        }
        guard let id else {
          Sockets.close(client, server)
          break
        }
        Thread.detachNewThread { [self] in forward(id, from: client, to: server, .toServer) }
        Thread.detachNewThread { [self] in forward(id, from: server, to: client, .toClient) }
      }
      state.withLock { state in
        state.isListening = false
        Sockets.close(listener)
      }
    }

    private func forward(_ id: Int, from source: Int32, to sink: Int32, _ direction: Direction) {
      var buffer = [UInt8](repeating: 0, count: 65_536)
      while let count = Sockets.receive(source, &buffer) {
        let admission = admit(count, id, direction)
        if let index = admission.flipped { buffer[index] ^= 0xFF }
        guard Sockets.send(sink, buffer[..<admission.count]), !admission.isLast else { break }
      }
      end(id, direction)
    }

    private struct Admission {
      /// The bytes that pass.
      var count: Int
      /// The index of a byte that is changed.
      var flipped: Int?
      /// True if the connection ends behind them.
      var isLast = false
    }

    private func admit(_ count: Int, _ id: Int, _ direction: Direction) -> Admission {
      state.withLock { state in
        guard var link = state.links[id], !link.isStalled else { return Admission(count: 0) }
        let admission = link.admit(count, direction)
        state.links[id] = link
        return admission
      }
    }

    /// A direction has ended. An end that comes from one side is passed on, unless the connection is stalled.
    private func end(_ id: Int, _ direction: Direction) {
      state.withLock { state in
        guard var link = state.links[id] else { return }
        link.openCount -= 1
        let isCut = link.plan?.fault == .cut || !link.isStalled
        if isCut { Sockets.cut(link.client, link.server) }
        if link.openCount == 0 { Sockets.close(link.client, link.server) }
        state.links[id] = link
        if link.openCount == 0 {
          state.links[id]?.client = -1
          state.links[id]?.server = -1
        }
      }
    }
  }
#endif
