internal import HearthModel
package import NIOCore
internal import Synchronization

/// A call in progress: the state shared by its connection, on an event loop, and its task, in the pool.
///
/// The task adds response bytes and takes requests. The connection takes response bytes as the client's flow control permits, and adds
/// requests. Output for the connection wakes the call's ``CallOutlet``.
package final class ServerCall: Sendable {
  /// An event, other than a request, that a stream waits for.
  package struct Signals: OptionSet {
    package let rawValue: UInt8
    package static let wake = Signals(rawValue: 1)
    package static let refresh = Signals(rawValue: 2)

    package init(rawValue: UInt8) {
      self.rawValue = rawValue
    }
  }

  package enum Input {
    case message(ByteBuffer)
    case signals(Signals)
    /// The client has closed its side.
    case end
  }

  /// The work of the connection for a call.
  struct Output {
    var bytes: ByteBuffer
    /// The response head must be sent even if there are no bytes yet.
    var sendsHead: Bool
    /// The call's end; the bytes come before it.
    var end: CallStatus?
    /// Waiting bytes must be dropped.
    var dropsBytes: Bool
    /// The client may send as much again as it has sent.
    var returnsWindow: Bool
  }

  struct State {
    var task: Task<Void, Never>?
    /// True from the moment when the end is known. Responses and requests that come later are dropped.
    var isOver = false
    /// The reason of an end that the task has not chosen.
    var cause: CallStatus?

    var bytes = ByteBuffer()
    var sendsHead = false
    var end: CallStatus?
    var dropsBytes = false
    /// Bytes that were added and that flow control has not let go.
    fileprivate(set) var queuedBytes = 0
    /// The size of results that were read to make the next responses.
    fileprivate(set) var resultBytes = 0
    fileprivate var wait = UnreadWait()
    var writer: CheckedContinuation<Void, any Error>?

    /// The request of a call with one.
    var request: ByteBuffer?
    var requests = CircularBuffer<ByteBuffer>()
    var requestBytes = 0
    /// The end that the task gets behind the last request, or the refusal of one; nil while more may come.
    var requestsEnd: Result<Input, any Error>?
    var signals: Signals = []
    var reader: CheckedContinuation<Input, any Error>?
    /// Resumed when the task waits for its next input, or the call is over.
    var idleWaiter: CheckedContinuation<Void, Never>?
    /// The connection keeps the window back until ``requests`` is empty.
    var keepsWindow = false
    var returnsWindow = false
    /// Gets the requests in place of ``requests``.
    var intake: AsyncThrowingStream<ByteBuffer, any Error>.Continuation?
  }

  /// The number by which its outlet knows it: that of its stream over HTTP/2.
  let number: Int
  package let method: CallMethod
  package let metadata: CallMetadata
  /// Nil for a call of gRPC.
  let transcoder: (any CallTranscoder)?
  /// True if the body is decompressed when the caller is known.
  let isBodyCompressed: Bool
  let load: ServerLoad
  let outlet: any CallOutlet
  let share: ConnectionShare
  let state = Mutex(State())
  /// Nil until the caller is identified.
  private let identified = Mutex<CallIdentity?>(nil)
  /// The bytes for which the request in progress counts.
  let requestInProgress = Mutex(RequestBudget.Held())

  init(
    number: Int, method: CallMethod, metadata: CallMetadata, transcoder: (any CallTranscoder)?,
    isBodyCompressed: Bool = false, load: ServerLoad, outlet: any CallOutlet, share: ConnectionShare
  ) {
    self.number = number
    self.method = method
    self.metadata = metadata
    self.transcoder = transcoder
    self.isBodyCompressed = isBodyCompressed
    self.load = load
    self.outlet = outlet
    self.share = share
  }
}

// MARK: - Life

extension ServerCall {
  /// The identity of the caller; nil until the server has identified it, which it has before the method runs.
  package var identity: CallIdentity? { identified.withLock { $0 } }

  func identify(_ identity: CallIdentity) {
    identified.withLock { $0 = identity }
  }

  /// Notes the task, which is cancelled if the call is over already.
  func runs(in task: Task<Void, Never>) {
    let isOver = state.withLock { state in
      if !state.isOver { state.task = task }
      return state.isOver && state.cause != nil
    }
    if isOver { task.cancel() }
  }

  /// Ends the call from outside its task, which is cancelled.
  ///
  /// - Parameter droppingBytes: Bytes that the client has not taken are not sent any more.
  func stop(_ status: CallStatus, droppingBytes: Bool = false) {
    let (task, reader, writer, idleWaiter, isNew) = state.withLock { state in
      defer { (state.task, state.reader, state.writer, state.idleWaiter) = (nil, nil, nil, nil) }
      let isNew = !state.isOver
      if isNew {
        (state.isOver, state.cause, state.end) = (true, status, status)
        state.dropsBytes = droppingBytes
        (state.requests, state.requestBytes) = ([], 0)
        state.intake?.finish()
        state.intake = nil
      } else if droppingBytes {
        // The task has finished, but its end waits behind bytes that are dropped now.
        (state.end, state.dropsBytes) = (status, true)
      }
      // The connection drops them soon; they do not count any more.
      if droppingBytes { hold(&state, queued: 0, results: 0) }
      return (state.task, state.reader, state.writer, state.idleWaiter, isNew)
    }
    idleWaiter?.resume()
    if isNew || droppingBytes, let limit = status.exceeded { load.metrics?.exceeded(limit) }
    task?.cancel()
    reader?.resume(throwing: status)
    writer?.resume(throwing: status)
    if isNew { outlet.wake(self) }
  }

  /// Ends the call, or its end if the task has finished, without the bytes that wait. Called where the connection does not know of it.
  func evict(_ status: CallStatus) {
    stop(status, droppingBytes: true)
    outlet.wake(self)
  }

  /// Ends the call as its task has chosen.
  func finish(_ status: CallStatus) {
    let (isNew, idleWaiter) = state.withLock { state in
      defer { state.idleWaiter = nil }
      state.task = nil
      hold(&state, queued: state.queuedBytes, results: 0)
      guard !state.isOver else { return (false, state.idleWaiter) }
      (state.isOver, state.end) = (true, status)
      (state.requests, state.requestBytes) = ([], 0)
      state.intake?.finish()
      state.intake = nil
      return (true, state.idleWaiter)
    }
    idleWaiter?.resume()
    if isNew {
      if let limit = status.exceeded { load.metrics?.exceeded(limit) }
      outlet.wake(self)
    }
  }

  /// Bytes that were added and that flow control has not let go.
  var queuedBytes: Int { state.withLock { $0.queuedBytes } }

  /// The reason for which the call was ended from outside; nil if it was not.
  var cause: CallStatus? { state.withLock { $0.cause } }
}

// MARK: - Responses

extension ServerCall {
  /// Sends the response head without waiting for a response.
  func sendHead() {
    state.withLock { $0.sendsHead = true }
    outlet.wake(self)
  }

  /// Adds a response message, and waits as below.
  package func send(_ message: [UInt8], isHeldBack: Bool) async throws {
    guard let transcoder else {
      return try await send(isHeldBack: isHeldBack) { MessageAssembler.write(message, to: &$0) }
    }
    // Not within the lock, for which the connection waits.
    var body = ByteBuffer()
    try transcoder.add(message, to: &body)
    let bytes = body
    try await send(isHeldBack: isHeldBack) { $0.writeImmutableBuffer(bytes) }
  }

  /// Adds a response, and waits while more bytes wait for the client than may.
  ///
  /// - Parameters:
  ///   - isHeldBack: The end or ``flush()`` follows soon; until then a few bytes are kept back, so that the connection is woken once.
  ///   - add: Adds whole messages with their heads.
  /// - Throws: `CallStatus` once the call was ended from outside.
  func send(isHeldBack: Bool, _ add: (inout ByteBuffer) throws -> Void) async throws {
    let (isNews, mayGoOn) = try state.withLock { state in
      if let cause = state.cause { throw cause }
      let before = state.bytes.readableBytes
      try add(&state.bytes)
      let count = state.bytes.readableBytes - before
      if state.queuedBytes == 0 { state.wait = UnreadWait(since: .now(), rest: count) }
      hold(&state, queued: state.queuedBytes + count, results: state.resultBytes)
      let mayGoOn = state.queuedBytes <= queuedBytesAllowed
      return (!isHeldBack || !mayGoOn || state.bytes.readableBytes >= Self.heldBackBytes, mayGoOn)
    }
    if isNews { outlet.wake(self) }
    load.unread.relieve()
    guard !mayGoOn else { return }
    load.writerWaits()
    try await untilTaken()
  }

  private static let heldBackBytes = 32 << 10

  /// Sends what is held back.
  func flush() {
    let isNews = state.withLock { $0.bytes.readableBytes > 0 }
    if isNews { outlet.wake(self) }
  }

  private func untilTaken() async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      let result: Result<Void, any Error>? = state.withLock { state in
        if let cause = state.cause { return .failure(cause) }
        if mayContinue(state) { return .success(()) }
        state.writer = continuation
        return nil
      }
      if let result { continuation.resume(with: result) }
    }
  }

  /// Half of what may wait has gone, so that a writer is not woken for each frame.
  private func mayContinue(_ state: borrowing State) -> Bool {
    state.queuedBytes <= queuedBytesAllowed / 2
  }

  /// The number of bytes that may wait before what produces them has to wait.
  var queuedBytesAllowed: Int { load.unread.queuedBytesAllowed(for: origin) }

  /// Notes the size of what was read to make the next responses, in place of what was noted before.
  func hold(results bytes: Int) {
    state.withLock { state in
      if !state.isOver { hold(&state, queued: state.queuedBytes, results: bytes) }
    }
    load.unread.relieve()
  }

  private func hold(_ state: inout State, queued: Int, results: Int) {
    let before = state.queuedBytes + state.resultBytes
    (state.queuedBytes, state.resultBytes) = (queued, results)
    load.unread.changed(by: queued + results - before, from: before, for: origin)
  }

  /// The time since which bytes wait; nil if none do.
  var unreadSince: NIODeadline? { state.withLock { $0.queuedBytes > 0 ? $0.wait.since : nil } }

  /// Takes the output that is due. Called by the connection.
  func takeOutput() -> Output {
    state.withLock { state in
      defer {
        state.bytes = ByteBuffer()
        (state.sendsHead, state.returnsWindow) = (false, false)
      }
      return Output(
        bytes: state.bytes, sendsHead: state.sendsHead, end: state.end, dropsBytes: state.dropsBytes,
        returnsWindow: state.returnsWindow)
    }
  }

  /// Flow control has let bytes go, or they were dropped. Called by the connection.
  ///
  /// A flush can find the connection closed, which abandons the call before its bytes are reported: they do not count twice.
  func accepted(_ count: Int, at now: NIODeadline = .now()) {
    let writer = state.withLock { state -> CheckedContinuation<Void, any Error>? in
      let counted = min(count, state.queuedBytes)
      hold(&state, queued: state.queuedBytes - counted, results: state.resultBytes)
      state.wait.taken(counted, leaving: state.queuedBytes, at: now)
      guard state.writer != nil, mayContinue(state) else { return nil }
      defer { state.writer = nil }
      return state.writer
    }
    writer?.resume()
  }

  /// The stream is gone: nothing of the call is sent any more. Called by the connection.
  func abandon() {
    stop(.cancelled, droppingBytes: true)
    state.withLock { $0.bytes = ByteBuffer() }
  }
}

/// The time for which the bytes of a call have waited for the client. Reading a part of them does not stop it; only reading all waiting
/// bytes does.
private struct UnreadWait {
  private(set) var since = NIODeadline.distantPast
  /// The bytes that must still be taken until none is left of those that waited at ``since``.
  private var rest = 0

  init() {}

  init(since: NIODeadline, rest: Int) {
    self.since = since
    self.rest = rest
  }

  /// - Parameter left: The bytes that wait now.
  mutating func taken(_ count: Int, leaving left: Int, at now: NIODeadline) {
    rest -= count
    if rest <= 0 { (since, rest) = (now, left) }
  }
}
