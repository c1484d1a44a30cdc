internal import Foundation
internal import HearthCache
internal import HearthModel
internal import HearthStore
internal import HearthSync

/// The states of a client: handles its messages one after the other. Confined to the runtime's queue.
///
/// | state | start | operations | stop |
/// |---|---|---|---|
/// | idle | opens the cache (or, where asked for, one in memory in its place): running, waiting or failed | cannot come before start | stopped |
/// | waiting | - | wait in order while another process or client has the folder (`FolderWait`): running, or locked | stopped |
/// | running | - | go to the sync engine | closes everything: stopped |
/// | suspended | - | wait in order, like what streams and timers say: running, or locked if another process took the folder | stopped |
/// | locked | - | try to open the folder once: running, or report the error | stopped |
/// | failed | - | report the error; nothing on disk changes | stopped |
/// | stopped | - | tasks get `cancelled`, callbacks are silent | completes when everything is closed |
final class ClientLoop {
  enum Message: Sendable {
    case start
    /// The pause before another attempt to open a folder that was in use is over.
    case openAgain
    /// The process is about to be suspended, and must hold no lock then.
    case suspend(done: @Sendable () -> Void)
    /// The process was resumed.
    case resume
    case write(WriteID, [Mutation], localWriteTime: HearthModel.Timestamp, WriteCompletion?)
    case listen(Listener<SnapshotEvent>, HearthModel.Query, ListenOptions, isOneShot: Bool)
    case unlisten(ListenerID)
    case listenForSync(Listener<Void>)
    case unlistenForSync(ListenerID)
    case request(RequestID, Request)
    case setIndexAutoCreation(isEnabled: Bool)
    case bundleBytes(RequestID, [UInt8], taken: @Sendable (_ wantsMore: Bool) -> Void)
    case bundleEnded(RequestID, StatusError?)
    case stream(SyncEvent)
    case backgroundQueryEnded(BackgroundQueryID, Result<BackgroundQueryResult, any Error>)
    /// A background reading has ended. `answer` completes its request, if that still waits.
    case backgroundReadingEnded(RequestID, failure: (any Error)?, answer: @Sendable () -> Void)
    /// The next page of a list of pending writes is to be read.
    case continueListing(RequestID)
    case timerFired(TimerKind, generation: Int)
    /// A message from the streams, timers and queries of a running client. They end with it, and its successor ignores their later
    /// messages.
    indirect case fromClient(number: Int, Message)
    case stop(@Sendable () -> Void)
  }

  /// Operations with one answer.
  enum Request: Sendable {
    case readDocument(DocumentKey, @Sendable (Result<Document, NSError>) -> Void)
    case readQuery(HearthModel.Query, @Sendable (SnapshotEvent) -> Void)
    case aggregate(
      HearthModel.Query, [Aggregation], @Sendable (Result<[String: Value], NSError>) -> Void)
    case setNetwork(isEnabled: Bool, @Sendable (NSError?) -> Void)
    case waitForPendingWrites(@Sendable (NSError?) -> Void)
    case pendingWrites(@Sendable (Result<[MutationBatch], NSError>) -> Void)
    case callBackend(BackendCall)
    case loadBundle(BundleObserver)
    case readNamedQuery(String, @Sendable (Result<HearthModel.Query?, NSError>) -> Void)
    case setIndexes([IndexDefinition], @Sendable (NSError?) -> Void)
    case deleteAllIndexes(@Sendable (NSError?) -> Void)
    case listIndexes(@Sendable (Result<[IndexListing], NSError>) -> Void)
    case explain(HearthModel.Query, @Sendable (Result<QueryExecution, NSError>) -> Void)

    func fail(_ error: NSError) {
      switch self {
      case .readDocument(_, let completion): completion(.failure(error))
      case .readQuery(_, let completion): completion(.failure(error))
      case .aggregate(_, _, let completion): completion(.failure(error))
      case .setNetwork(_, let completion): completion(error)
      case .waitForPendingWrites(let completion): completion(error)
      case .pendingWrites(let completion): completion(.failure(error))
      case .callBackend(let call): call.fail(error)
      case .loadBundle(let observer):
        observer.progress(.failed)
        observer.completion(error)
      case .readNamedQuery(_, let completion): completion(.failure(error))
      case .setIndexes(_, let completion), .deleteAllIndexes(let completion): completion(error)
      case .listIndexes(let completion): completion(.failure(error))
      case .explain(_, let completion): completion(.failure(error))
      }
    }
  }

  private enum State {
    case idle(ClientConfiguration)
    case running(RunningClient)
    case waiting(FolderWait)
    case suspended(RunningClient, FolderWait)
    case locked(FolderWait, NSError)
    case failed(NSError)
    /// With the queue of the completions of all calls that end the client. It is suspended until everything is closed.
    case stopped(DispatchQueue)
  }

  private var state: State
  private var choices = ClientChoices()
  private var pause: Duration?
  /// Ends with the client that it is for.
  private var suspensionWatch: AnyObject?
  /// The number of the present client: one for each successful opening of the cache.
  private var clientCount = 0
  private var repairCount = 0
  /// A disk that keeps damaging the cache cannot be used.
  private static let repairLimit = 20

  init(_ configuration: ClientConfiguration) {
    state = .idle(configuration)
  }

  init(failing error: NSError) {
    state = .failed(error)
  }

  /// - Parameter post: Puts a message into the mailbox, from any thread.
  func handle(_ messages: [Message], post: @escaping @Sendable (Message) -> Void) {
    var remaining = messages[...]
    while let message = remaining.popFirst() {
      // Noted after the switch: the choices before a message must not contain it.
      defer { choices.note(message) }
      if isHeld(message, post: post) { continue }
      switch message {
      case .start:
        start(post: post)
      case .openAgain:
        if case .waiting(let wait) = state { open(wait, post: post) }
      case .suspend(let done):
        suspend()
        done()
      case .resume:
        resume(post: post)
      case .stop(let completion):
        stop(completion)
      case .write:
        // Writes that wait together share one durable commit.
        let others = remaining.prefix { if case .write = $0 { true } else { false } }
        remaining.removeFirst(others.count)
        handleWrites([message] + others)
      case .fromClient(let number, let message):
        if number == clientCount { handle(message) }
      default:
        handle(message)
      }
      reopenIfNeeded(post: post)
    }
  }

  private func start(post: @escaping @Sendable (Message) -> Void) {
    guard case .idle(let configuration) = state else { return }
    open(FolderWait(configuration), post: post)
  }

  private func open(_ wait: FolderWait, post: @escaping @Sendable (Message) -> Void) {
    let configuration = wait.configuration
    do {
      try run(configuration, post: post)
      configuration.cacheOpened?(nil)
      handle(wait.takeHeld(), post: post)
    } catch {
      let isInUse = FolderWait.isWorthwhile(after: error)
      if isInUse, let pause = wait.nextPause() {
        state = .waiting(wait)
        self.pause = pause
        return
      }
      let error = isInUse ? FolderWait.givenUp(error) : error
      let reported = fail(error)
      if let cacheOpened = configuration.cacheOpened {
        var inMemory = configuration
        inMemory.cache = .memory(.leastRecentlyUsed(sizeBytes: CacheSize.defaultBytes))
        do { try run(inMemory, post: post) } catch { fail(error) }
        cacheOpened(error)
      }
      handle(wait.takeHeld(), post: post)
      if isInUse, case .failed = state { state = .locked(wait, reported) }
    }
  }

  /// Holds messages that must wait for a folder in use, and opens the cache if the folder is free now.
  private func isHeld(_ message: Message, post: @escaping @Sendable (Message) -> Void) -> Bool {
    switch (state, message) {
    case (.waiting, .start), (.waiting, .openAgain), (.waiting, .stop), (.waiting, .suspend), (.waiting, .resume),
      (.suspended, .suspend), (.suspended, .resume), (.suspended, .stop):
      return false
    case (.waiting(let wait), _), (.suspended(_, let wait), _):
      wait.hold(message)
      return true
    case (.locked(let wait, _), _) where message.needsCache:
      openNow(wait, post: post)
      return false
    default:
      return false
    }
  }

  private func suspend() {
    guard case .running(let client) = state, case .file = client.configuration.cache else { return }
    client.suspend()
    state = .suspended(client, FolderWait(client.configuration))
  }

  /// Continues after a suspension, unless another process had the folder meanwhile: then as after a wait that was given up.
  private func resume(post: @escaping @Sendable (Message) -> Void) {
    guard case .suspended(let client, let wait) = state else { return }
    do {
      try client.resume()
      state = .running(client)
      watchForSuspension(post: post)
    } catch {
      let error = NSError.firestore(opening: error)
      HearthLog.error("The cache cannot be used any more: \(error.localizedDescription)")
      client.end(error)
      state = .locked(wait, error)
    }
    handle(wait.takeHeld(), post: post)
  }

  private func watchForSuspension(post: @escaping @Sendable (Message) -> Void) {
    #if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
      guard case .running(let client) = state, case .file = client.configuration.cache else { return }
      suspensionWatch = SuspensionWatch(suspend: { post(.suspend(done: $0)) }, resume: { post(.resume) })
    #endif
  }

  private func openNow(_ wait: FolderWait, post: @escaping @Sendable (Message) -> Void) {
    do {
      try run(wait.configuration, post: post)
      handle(choices.messages, post: post)
    } catch {
      // While the folder is in use, everything stays as it is: the operation reports the known error.
      if !FolderWait.isWorthwhile(after: error) { fail(error) }
    }
  }

  /// Returns the pause before ``Message/openAgain`` must be posted, once; nil if no attempt is planned. Called after each round.
  func takePause() -> Duration? {
    defer { pause = nil }
    return pause
  }

  private func run(
    _ configuration: ClientConfiguration, continuing former: RunningClient.Remainder? = nil,
    post: @escaping @Sendable (Message) -> Void
  ) throws {
    let number = clientCount + 1
    let client = try RunningClient(configuration, continuing: former) { post(.fromClient(number: number, $0)) }
    clientCount = number
    state = .running(client)
    client.start()
    watchForSuspension(post: post)
  }

  /// Replaces a client whose cache was found damaged beyond repair by one with a reopened cache.
  private func reopenIfNeeded(post: @escaping @Sendable (Message) -> Void) {
    while case .running(let client) = state, let cause = client.reopening {
      HearthLog.error("The cache is damaged and is opened anew: \(cause.reason)")
      let remainder = client.endForReopening(cause)
      do {
        repairCount += 1
        guard repairCount < Self.repairLimit else { throw StoreError(kind: .corrupt, message: cause.reason) }
        try run(client.configuration, continuing: remainder, post: post)
      } catch {
        remainder.abandon()
        let reported = fail(error)
        // Another process may have taken the folder between the closing and the opening.
        if FolderWait.isWorthwhile(after: error) { state = .locked(FolderWait(client.configuration), reported) }
      }
    }
  }

  @discardableResult
  private func fail(_ error: any Error) -> NSError {
    let error = NSError.firestore(opening: error)
    HearthLog.error("The cache cannot be used: \(error.localizedDescription)")
    state = .failed(error)
    return error
  }

  private func stop(_ completion: @escaping @Sendable () -> Void) {
    suspensionWatch = nil
    switch state {
    case .stopped(let endings):
      endings.async(execute: completion)
    case .running(let client):
      let endings = Self.makeEndings()
      state = .stopped(endings)
      endings.suspend()
      endings.async(execute: completion)
      client.stop { endings.resume() }
    case .suspended(let client, let wait):
      // Without the folder nothing may be stored.
      client.end(.terminated)
      state = .waiting(wait)
      stop(completion)
    case .waiting(let wait):
      state = .stopped(Self.makeEndings())
      for message in wait.takeHeld() {
        if case .write(_, _, _, let write) = message { write?.abandon() } else { handle(message) }
      }
      completion()
    case .idle, .locked, .failed:
      state = .stopped(Self.makeEndings())
      completion()
    }
  }

  private static func makeEndings() -> DispatchQueue { DispatchQueue(label: "hearth.endings") }

  private func handleWrites(_ messages: [Message]) {
    var writes: [PendingLocalWrite] = []
    for case .write(let id, let mutations, let localWriteTime, let completion) in messages {
      writes.append(
        PendingLocalWrite(id: id, mutations: mutations, localWriteTime: localWriteTime, completion: completion))
    }
    switch state {
    case .running(let client):
      client.write(writes)
    case .failed(let error), .locked(_, let error):
      for write in writes {
        HearthLog.error("A write was not saved: \(error.localizedDescription)")
        write.completion?.finish(error)
      }
    case .idle, .waiting, .suspended, .stopped:
      for write in writes { write.completion?.abandon() }
    }
  }

  private func handle(_ message: Message) {
    switch state {
    case .running(let client): client.handle(message)
    case .failed(let error), .locked(_, let error): refuse(message, error)
    case .idle, .waiting, .suspended, .stopped: refuse(message, .terminated)
    }
  }

  private func refuse(_ message: Message, _ error: NSError) {
    switch message {
    case .listen(let listener, _, _, _):
      switch state {
      case .failed, .locked: listener.deliver(.failure(error))
      case .idle, .waiting, .running, .suspended, .stopped: listener.endSilently()
      }
    case .request(_, let request):
      request.fail(error)
    case .bundleBytes(_, _, let taken):
      taken(false)
    default:
      break
    }
  }
}

/// A local write before it is queued.
struct PendingLocalWrite {
  var id: WriteID
  var mutations: [Mutation]
  var localWriteTime: HearthModel.Timestamp
  var completion: WriteCompletion?
}

extension NSError {
  static var terminated: NSError { .firestore(.cancelled, "The client was terminated before the operation ended.") }
}

extension Listener where Event == SnapshotEvent {
  /// The client was terminated: tasks that wait for a snapshot end, callbacks are just not called any more.
  func endSilently() {
    if isDirect { deliver(.failure(.terminated)) }
    silence()
  }
}
