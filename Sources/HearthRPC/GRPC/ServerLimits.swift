/// The limits of a server's calls, for all of its connections together. Each connection has limits of its own.
package struct ServerLimits: Sendable, Hashable {
  /// The limits of one connection.
  package var connection = ConnectionLimits()

  /// Connections that are open at the same time. One more is accepted, gets GOAWAY with ENHANCE_YOUR_CALM and is closed. With
  /// ``hasAddressesOfClients``, one address may have as many as it leaves free.
  package var connections = 10_000

  /// Calls in progress, streams among them. One more ends with RESOURCE_EXHAUSTED. One address, or without ``hasAddressesOfClients`` one
  /// connection, may have as many as it leaves free: so by default a connection may use all of its streams.
  package var calls = 32_768

  /// True if each connection comes from its client, and not from a proxy, which calls for everybody.
  package var hasAddressesOfClients = false

  /// Calls of one address (of IPv6: one network, /64) that may fail to authenticate in a minute; 0 for any number. From then on, and until the
  /// minute is over, its calls end with RESOURCE_EXHAUSTED, unless their credentials were verified before.
  ///
  /// Nil is ``usualFailedAuthentications`` if the addresses of connections are those of clients, and otherwise 0: behind a proxy all clients
  /// have its address.
  package var failedAuthenticationsPerMinute: Int?

  /// An app whose token is not accepted retries with growing pauses, about ten times in the first minute. So dozens of them may share an
  /// address. As many tokens take an eighth of a second of processor time (docs/performance.md, "TLS, tokens and rules").
  package static let usualFailedAuthentications = 600

  /// The time after which the credentials of a stream's caller are checked again, with the keys with which new calls are verified.
  package var credentialsInterval = Duration.seconds(30)

  /// The size in bytes of the largest request message: the 10 MiB of Firestore's documented limits.
  package var requestBytes = 10 << 20

  /// Response bytes of one stream that wait for the client's flow control. Their producer waits while there are more. One message is always
  /// accepted, so a stream holds at most this and its largest message.
  package var queuedBytesPerStream = 256 << 10

  /// Bytes that calls hold for clients which have not read them: responses that wait for flow control, and results from which the next ones
  /// are made. While there are more, a stream may only have its share of this waiting, or one message.
  package var queuedBytes = 64 << 20

  /// The same bytes. While there are more, the calls whose bytes have waited longest end with RESOURCE_EXHAUSTED: for five seconds or more,
  /// or for any time if there are twice as many.
  package var unreadBytes = 256 << 20

  /// A stream whose client takes nothing for this long, although bytes wait, ends with RESOURCE_EXHAUSTED.
  package var unreadTime = Duration.seconds(60)

  /// A connection of HTTP/1 that brings no request for this long is closed, and any connection that brings nothing at first.
  package var webIdleTime = Duration.seconds(120)

  /// The time in which a client has to send the next 64 KiB of a body over HTTP/1, or its end.
  package var webBodyTime = Duration.seconds(30)

  /// Bytes of requests that were received and not handled yet: messages that are not complete, and those that wait in a stream. While
  /// there are more, the largest requests of those clients that have most end with RESOURCE_EXHAUSTED. Without ``hasAddressesOfClients``, each
  /// connection counts as a client.
  package var receivedBytes = 128 << 20

  /// Bytes of requests that are being carried out, with what is made of their entries. A client may hold as many as it leaves free, without
  /// ``hasAddressesOfClients`` each connection. A request without room ends with RESOURCE_EXHAUSTED, unless it has at most 4 KiB or
  /// is the only one; commits of transactions have a quarter more, at least ``requestBytes``. The memory that they take is up to three times as
  /// much.
  package var requestBytesInProgress = 128 << 20

  package init() {}
}
