internal import HearthModel
package import Logging
internal import NIOCore
internal import Synchronization

/// Carries out the calls of all connections of a server.
package final class CallServer: Sendable {
  /// Returns the text that says why nothing is served at a path; nil for a path that is not known.
  package typealias Unserved = @Sendable (_ path: String) -> String?

  /// The handler of a path. Protocols other than gRPC get a case here.
  enum Route {
    case call(CallMethod)
    /// The answer is this status of gRPC.
    case refused(CallStatus)
  }

  package let load: ServerLoad
  var limits: ServerLimits { load.limits }
  let logger: Logger
  /// Answers requests that are not calls of gRPC; nil if nothing does.
  let web: (any WebService)?
  private let methods: [String: CallMethod]
  private let authenticator: any CallAuthenticator
  private let credentials: CredentialWatch
  /// Nil if calls may fail to authenticate as often as they like.
  private let authenticationLimit: AuthenticationLimit?
  private let authenticationLog: AuthenticationLog
  private let failures: FailureLog
  private let unserved: Unserved
  private let interceptor: (any CallInterceptor)?
  private let streams = Mutex(Streams())
  /// The methods whose requests are a stream.
  private let streamingMethods: [String]

  /// The calls without an end of their own: the client or the server ends them.
  private struct Streams {
    var isEnding = false
    var calls: [ObjectIdentifier: ServerCall] = [:]
  }

  /// - Parameters:
  ///   - services: The methods of each service, by its full name, such as `google.firestore.v1.Firestore`.
  ///   - web: Answers requests that are not calls of gRPC.
  ///   - authenticator: Identifies the caller of each call. Refused calls do nothing.
  ///   - unserved: Is asked about paths that no service has.
  package init(
    services: [String: [CallMethod]], web: (any WebService)? = nil, limits: ServerLimits,
    metrics: (any CallMetrics)? = nil, authenticator: any CallAuthenticator,
    unserved: @escaping Unserved = { _ in nil },
    interceptor: (any CallInterceptor)?, logger: Logger
  ) {
    let paths = services.flatMap { service, methods in methods.map { ("/\(service)/\($0.name)", $0) } }
    methods = Dictionary(paths) { first, _ in first }
    streamingMethods = methods.values.filter { $0.kind == .requestStream }.map(\.name)
    self.web = web
    load = ServerLoad(limits: limits, metrics: metrics)
    self.authenticator = authenticator
    credentials = CredentialWatch(authenticator, checkedEvery: limits.credentialsInterval)
    authenticationLimit = limits.failedAuthenticationsPerMinute.flatMap { $0 > 0 ? AuthenticationLimit($0) : nil }
    authenticationLog = AuthenticationLog(logger)
    failures = FailureLog(logger)
    self.unserved = unserved
    self.interceptor = interceptor
    self.logger = logger
  }

  func route(_ path: String) -> Route {
    if let method = methods[path] { return .call(method) }
    if let reason = unserved(path) { return .refused(CallStatus(.unimplemented, reason)) }
    let name = path.drop { $0 == "/" }.replacing("/", with: ".")
    return .refused(CallStatus(describing: CallStatus(.unimplemented, "\(name.prefix(200)) is not served.")))
  }

  /// Runs a call in a task of its own. ``ServerLoad/callBegan(in:)`` was called for it.
  ///
  /// - Parameters:
  ///   - message: The request of a call with one; nil in streams.
  ///   - executor: The event loop on which this is called, if brief calls may run there.
  func run(_ call: ServerCall, _ message: ByteBuffer?, on executor: EventLoopTaskExecutor? = nil) {
    if call.method.kind == .requestStream { add(call) }
    let begin = load.metrics.map { metrics in
      if let message, !call.isBodyCompressed { metrics.requestReceived(bytes: message.readableBytes) }
      return ContinuousClock.now
    }
    if let message, let refusal = refusal(of: message, call) {
      if begin != nil { load.metrics?.callEnded(call.method.name, code: "\(refusal.code)", after: .zero) }
      call.finish(refusal)
      return load.callEnded(in: call.share)
    }
    let isBrief = isBrief(call, message)
    // Not kept by the task, so that it goes when a message was made of it.
    if let message { call.keepRequest(message) }
    let task = start(isBrief ? executor : nil) { [self] in
      let status = await perform(call)
      if let begin {
        load.metrics?.callEnded(call.method.name, code: "\(status.code)", after: .now - begin)
      }
      call.requestEnded()
      call.finish(status)
      if call.method.kind == .requestStream { remove(call) }
      load.callEnded(in: call.share)
    }
    call.runs(in: task)
  }

  /// - Returns: The status of a call with one request that has no room among the requests in progress.
  private func refusal(of message: ByteBuffer, _ call: ServerCall) -> CallStatus? {
    do throws(CallStatus) {
      try call.requestBegins(message, isBody: call.transcoder != nil)
      return nil
    } catch {
      return failure(error, of: call)
    }
  }

  /// Larger requests take longer to read than two changes of thread.
  private static let briefBytes = 4 << 10

  private func isBrief(_ call: ServerCall, _ message: ByteBuffer?) -> Bool {
    call.method.isBrief && interceptor == nil && call.transcoder == nil
      && message?.readableBytes ?? .max <= Self.briefBytes && isKnown(call)
  }

  /// Identifies the caller if that takes no time. An error is found again, and thrown, by the call's task.
  private func isKnown(_ call: ServerCall) -> Bool {
    guard case .identity(let identity)? = try? authenticator.known(call.metadata) else { return false }
    call.identify(identity)
    return true
  }

  private func identify(_ call: ServerCall) async throws {
    guard call.identity == nil else { return }
    let client = call.share.client
    do throws(CallStatus) {
      // Credentials that are known cost nothing, and are not kept from anybody for what others at the same address do.
      switch try authenticator.known(call.metadata) {
      case .identity(let identity): return call.identify(identity)
      case .toBeConfirmed: break
      case .unknown: if let client { try authenticationLimit?.check(client) }
      }
      call.identify(try await authenticator.identify(call.metadata))
    } catch {
      if error.code == .unauthenticated, let client { authenticationLimit?.failed(client) }
      if error.code == .unauthenticated || error.code == .resourceExhausted {
        authenticationLog.failed(error, by: client)
      }
      throw error
    }
  }

  /// - Parameter executor: Where all of the task runs, beginning now; nil for the pool.
  private func start(
    _ executor: EventLoopTaskExecutor?, _ operation: @escaping @Sendable () async -> Void
  ) -> Task<Void, Never> {
    if let executor, #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
      return Task.immediate(executorPreference: executor, operation: operation)
    }
    return Task(operation: operation)
  }

  private func perform(_ call: ServerCall) async -> CallStatus {
    do {
      try await identify(call)
      if let transcoder = call.transcoder {
        let body = call.takeRequest()
        let request = try transcoder.request(from: call.isBodyCompressed ? call.decompressed(body) : body)
        try call.requestBegins(request, isBody: false)
        call.keepRequest(request)
      }
      let isWatched = call.method.endsWithCredentials && credentials.add(call)
      defer { if isWatched { credentials.remove(call) } }
      if let interceptor, call.method.isIntercepted {
        try await performTapped(call, by: interceptor)
      } else {
        try await call.method.run(call, nil)
      }
      return .ok
    } catch {
      return failure(call.cause ?? error, of: call)
    }
  }

  private func failure(_ error: any Error, of call: ServerCall) -> CallStatus {
    let status = CallStatus(describing: error)
    let level: Logger.Level = status.code == .dataLoss || status.code == .internal ? .error : .debug
    guard level >= failures.logger.logLevel else { return status }
    failures.log(
      level: level, "call failed",
      [
        "method": .escaped(call.method.name), "code": "\(status.code)", "message": .escaped(status.message),
        "address": .escaped(call.share.client.map(\.description) ?? "unknown"),
        "caller": .escaped(call.identity.map { "\($0.caller)" } ?? "unknown"),
      ])
    return status
  }

  // MARK: - Streams

  private func add(_ call: ServerCall) {
    let isEnding = streams.withLock { streams in
      if !streams.isEnding { streams.calls[ObjectIdentifier(call)] = call }
      return streams.isEnding
    }
    if isEnding { call.stop(Self.shuttingDown) }
  }

  private func remove(_ call: ServerCall) {
    streams.withLock { _ = $0.calls.removeValue(forKey: ObjectIdentifier(call)) }
  }

  /// The open streams by method, and the bytes that wait in the one with the most.
  package func streamUse() -> (open: [String: Int], greatestQueuedBytes: Int) {
    let calls = streams.withLock { Array($0.calls.values) }
    var open = Dictionary(streamingMethods.map { ($0, 0) }) { first, _ in first }
    for call in calls { open[call.method.name, default: 0] += 1 }
    return (open, calls.map(\.queuedBytes).max() ?? 0)
  }

  /// Ends all streams, and those that begin from now on, with UNAVAILABLE, so that clients retry.
  package func endStreams() {
    let calls = streams.withLock { streams in
      streams.isEnding = true
      defer { streams.calls = [:] }
      return Array(streams.calls.values)
    }
    for call in calls { call.stop(Self.shuttingDown) }
  }

  private static let shuttingDown = CallStatus(.unavailable, StatusError.shuttingDown.message)

  /// Posts ``ServerCall/Signals/refresh`` to each stream of a method once in every interval, until the task is cancelled. A part of the
  /// streams gets it at a time, so that they do not all work at once.
  package func refreshStreams(of method: String, every interval: Duration) async {
    let parts = 16
    var part = 0
    while (try? await Task.sleep(for: interval / parts)) != nil {
      let calls = streams.withLock { streams in
        streams.calls.values.filter { $0.method.name == method && Self.part($0, of: parts) == part }
      }
      for call in calls { call.post(.refresh) }
      part = (part + 1) % parts
    }
  }

  /// Posts ``ServerCall/Signals/refresh`` to all streams of a method now.
  package func refreshStreams(of method: String) {
    let calls = streams.withLock { streams in streams.calls.values.filter { $0.method.name == method } }
    for call in calls { call.post(.refresh) }
  }

  private static func part(_ call: ServerCall, of count: Int) -> Int {
    Int(UInt(bitPattern: ObjectIdentifier(call).hashValue) % UInt(count))
  }
}

// MARK: - Interception

extension CallServer {
  private func performTapped(
    _ call: ServerCall, by interceptor: any CallInterceptor
  ) async throws {
    guard let tap = try await interceptor.began(InterceptedCall(call: call)) else {
      return try await call.method.run(call, nil)
    }
    defer { tap.ended() }
    guard call.method.kind == .requestStream else { return try await call.method.run(call, tap) }
    // In a task of its own: a request that is kept waiting does not hold up signals.
    let requests = call.divertRequests()
    let pump = Task {
      do {
        for try await bytes in requests {
          // The tap's outcome for a request must not overtake the answers to earlier requests: an error ends the call.
          await call.untilIdle()
          if try await tap.request(call.method.decode(bytes)) { call.deliver(bytes, passingIntake: true) }
        }
        call.deliverEnd(passingIntake: true)
      } catch {
        await call.untilIdle()
        call.stop(CallStatus(describing: error))
      }
    }
    defer { pump.cancel() }
    try await call.method.run(call, tap)
  }
}
