internal import ArgumentParser
internal import HearthServer

/// The limits of `hearth serve`, with the defaults of `ServerLimits`.
struct LimitOptions: ParsableArguments {
  private static let defaults = ServerLimits()

  @Option(help: "Connections that are open at the same time; one more is closed with GOAWAY.")
  var maxConnections = defaults.connections

  @Option(help: "Calls in progress, listeners among them; one more fails with RESOURCE_EXHAUSTED.")
  var maxCalls = defaults.calls

  @Option(help: "Streams that one connection may have open at the same time.")
  var maxStreamsPerConnection = defaults.connection.maximumConcurrentStreams

  @Option(help: "The size in bytes of the largest request message.")
  var maxRequestBytes = defaults.requestBytes

  @Option(help: "Bytes that wait for the client of one stream before the server stops producing more.")
  var maxQueuedBytesPerStream = defaults.queuedBytesPerStream

  @Option(help: "Bytes that wait for all clients before each stream may have only one message waiting.")
  var maxQueuedBytes = defaults.queuedBytes

  @Option(help: "Bytes of unfinished requests before the largest of them fail with RESOURCE_EXHAUSTED.")
  var maxReceivedBytes = defaults.receivedBytes

  @Option(help: "Seconds after which a stream ends whose client takes nothing, although bytes wait.")
  var unreadSeconds = Int(defaults.unreadTime.components.seconds)

  @Option(help: "Seconds of silence after which a client is asked if it is there.")
  var keepAliveSeconds = Int(defaults.connection.keepAliveTime.components.seconds)

  @Option(help: "Seconds that a client has to answer before its connection is closed.")
  var keepAliveTimeoutSeconds = Int(defaults.connection.keepAliveTimeout.components.seconds)

  var limits: ServerLimits {
    var limits = ServerLimits()
    limits.connections = maxConnections
    limits.calls = maxCalls
    limits.connection.maximumConcurrentStreams = maxStreamsPerConnection
    limits.requestBytes = maxRequestBytes
    limits.queuedBytesPerStream = maxQueuedBytesPerStream
    limits.queuedBytes = maxQueuedBytes
    limits.receivedBytes = maxReceivedBytes
    limits.unreadTime = .seconds(unreadSeconds)
    limits.connection.keepAliveTime = .seconds(keepAliveSeconds)
    limits.connection.keepAliveTimeout = .seconds(keepAliveTimeoutSeconds)
    return limits
  }

  func validate() throws {
    let numbers = [
      ("--max-connections", maxConnections), ("--max-calls", maxCalls),
      ("--max-streams-per-connection", maxStreamsPerConnection), ("--max-request-bytes", maxRequestBytes),
      ("--max-queued-bytes-per-stream", maxQueuedBytesPerStream), ("--max-queued-bytes", maxQueuedBytes),
      ("--max-received-bytes", maxReceivedBytes), ("--unread-seconds", unreadSeconds),
      ("--keep-alive-seconds", keepAliveSeconds), ("--keep-alive-timeout-seconds", keepAliveTimeoutSeconds),
    ]
    // 32 bits: streams are announced in a setting of HTTP/2, and times are counted in nanoseconds.
    for (name, number) in numbers where !(1...Int(Int32.max)).contains(number) {
      throw ValidationError("\(name) is \(number): choose a number between 1 and \(Int32.max).")
    }
  }
}
