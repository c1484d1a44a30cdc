/// Counts the events of connections and calls. A program without a metrics backend has none.
package protocol CallMetrics: AnyObject, Sendable {
  /// The open streams of each connection.
  var streamsPerConnection: UsageRegistry { get }

  func exceeded(_ limit: ServerLimit, count: Int)

  /// - Parameters:
  ///   - method: One of those that the server has: others would make the number of series unbounded.
  ///   - code: The name of the status, such as `NOT_FOUND`.
  func callEnded(_ method: String, code: String, after duration: Duration)

  func requestReceived(bytes: Int)
}

extension CallMetrics {
  package func exceeded(_ limit: ServerLimit) { exceeded(limit, count: 1) }
}
