package import Logging
internal import NIOCore

/// Logs connections that this end closes, at the pace of ``LogPace`` for each kind of reason.
package final class ConnectionLog: Sendable {
  private let logger: Logger
  private let excessPace = LogPace()
  private let silencePace = LogPace()

  package init(_ logger: Logger) {
    self.logger = logger
  }

  /// - Parameter reason: The limit in words.
  func exceeded(_ reason: String, by address: SocketAddress?) {
    guard let metadata = excessPace.metadata(of: ClientNetwork(address), reason: reason) else { return }
    logger.notice("connection ended: it exceeded a limit of connections", metadata: metadata)
  }

  /// - Parameter address: That of a client that has not answered a ping in time.
  func silent(_ address: SocketAddress?) {
    guard let metadata = silencePace.metadata(of: ClientNetwork(address), reason: "it has not answered a ping in time")
    else { return }
    logger.info("connection closed: the client is silent", metadata: metadata)
  }
}
