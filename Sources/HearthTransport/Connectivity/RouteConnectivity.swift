#if os(Linux) || os(Android)
  internal import Dispatch

  /// The network as the Linux kernel reports it (rtnetlink(7)).
  ///
  /// A notice only means that something happened. A moment later, when a burst is over, the kernel is asked for the present state, and only
  /// a difference counts (``NetworkPaths``). In sandboxes that forbid the sockets, such as Android's, `watch` throws.
  struct RouteConnectivity: ConnectivityMonitor {
    /// The delay from the first notice of a burst to the request for the state.
    private let settling: DispatchTimeInterval

    init(settling: DispatchTimeInterval = .milliseconds(200)) {
      self.settling = settling
    }

    func watch(
      _ onChange: @escaping @Sendable (ConnectivityChange) -> Void
    ) throws(ConnectivityError) -> ConnectivityWatch {
      // First the notices, then the state: changes in between are noticed.
      try watch(RouteSocket(hearing: .everything), RouteSocket(hearing: []), onChange)
    }

    /// Watches the network to which the sockets belong: that of the thread that has made them.
    func watch(
      _ notices: RouteSocket, _ questions: RouteSocket, _ onChange: @escaping @Sendable (ConnectivityChange) -> Void
    ) throws(ConnectivityError) -> ConnectivityWatch {
      let watch = RouteWatch(
        notices: notices, questions: questions, paths: try questions.paths(), settling: settling, onChange)
      watch.start()
      return ConnectivityWatch { watch.stop() }
    }
  }

  /// One watch. Everything but the start and the stop happens on its queue; the event source keeps it alive until it is stopped.
  private final class RouteWatch: Sendable {
    private let queue = DispatchQueue(label: "hearth.connectivity")
    // Safe: set once in `init`, and Dispatch's sources may be used from any thread.
    private nonisolated(unsafe) let source: any DispatchSourceRead
    private let notices: RouteSocket
    private let questions: RouteSocket
    private let settling: DispatchTimeInterval
    private let onChange: @Sendable (ConnectivityChange) -> Void
    // Safe, both: after `init` they are only touched on `queue`, which is serial.
    private nonisolated(unsafe) var paths: NetworkPaths
    private nonisolated(unsafe) var isLookingSoon = false

    init(
      notices: RouteSocket, questions: RouteSocket, paths: NetworkPaths, settling: DispatchTimeInterval,
      _ onChange: @escaping @Sendable (ConnectivityChange) -> Void
    ) {
      self.notices = notices
      self.questions = questions
      self.paths = paths
      self.settling = settling
      self.onChange = onChange
      source = DispatchSource.makeReadSource(fileDescriptor: notices.descriptor, queue: queue)
    }

    func start() {
      source.setEventHandler { self.noticed() }
      // The handlers are released with the source, and with them the sockets: never while the source still uses one.
      source.setCancelHandler { self.source.setEventHandler(handler: nil) }
      source.activate()
    }

    func stop() {
      source.cancel()
    }

    private func noticed() {
      guard notices.takeNotices(), !isLookingSoon else { return }
      isLookingSoon = true
      queue.asyncAfter(deadline: .now() + settling) { [weak self] in self?.look() }
    }

    private func look() {
      isLookingSoon = false
      // Without an answer the state is unknown, so nothing is done.
      guard !source.isCancelled, let now = try? questions.paths() else { return }
      let former = paths
      paths = now
      if now.differs(from: former) { onChange(ConnectivityChange(hasPath: !now.ways.isEmpty)) }
    }
  }
#endif
