import Foundation
import HearthSync
import Synchronization
import TestSupport
import Testing

@testable import Hearth

/// The removal of listeners, and the cancellation of tasks, while locks are held that a callback needs. Each wait has a limit: a
/// deadlock fails the test.
@Suite("Removal and cancellation while a callback runs", .timeLimit(.minutes(5)))
struct RemovalTests {
  /// Calls a closure when it is released.
  private final class Releasing: Sendable {
    private let released: @Sendable () -> Void

    init(_ released: @escaping @Sendable () -> Void) { self.released = released }

    deinit { released() }
  }

  private func listener(
    on queue: DispatchQueue? = nil, _ callback: @escaping @Sendable (Int) -> Void
  ) -> Listener<Int> {
    Listener(id: ListenerID(rawValue: 1), queue: queue, callback: callback)
  }

  @Test("a task can be cancelled while the snapshot that it waits for is delivered")
  func cancellationDuringDelivery() async throws {
    let buffer = SnapshotBuffer<Int> { _, new in new }
    let (entered, gate, delivered) = (Moment(), Moment(), Moment())
    let (removing, cancelled, ended) = (Moment(), Moment(), Moment())
    let listener = listener { number in
      entered.comes()
      gate.wait()
      buffer.add(number)
    }
    let subscription = SnapshotSubscription(
      buffer,
      ListenerHandle {
        removing.comes()
        listener.remove()
      })
    let task = Task {
      _ = try await subscription.next()
      ended.comes()
    }
    try await waitUntil { buffer.isAwaited }
    Thread.detachNewThread {
      listener.deliver(1)
      delivered.comes()
    }
    #expect(await entered.hasCome())
    // The runtime holds the task's status lock from here on, until its cancellation handler has ended.
    Thread.detachNewThread {
      task.cancel()
      cancelled.comes()
    }
    #expect(await removing.hasCome())
    gate.comes()
    #expect(await cancelled.hasCome(), "the cancellation waits for the delivery")
    #expect(await delivered.hasCome(), "the delivery waits for the cancellation")
    #expect(await ended.hasCome(), "the task was not resumed")
  }

  @Test("tasks can be cancelled at any moment of a delivery", arguments: SeededGenerator.seeds(1))
  func cancellationAtRandomMoments(seed: UInt64) async throws {
    let ended = Moment()
    let isOver = Atomic<Bool>(false)
    let present = Mutex<Listener<Int>?>(nil)
    Thread.detachNewThread {
      while !isOver.load(ordering: .relaxed) { present.withLock { $0 }?.deliver(1) }
    }
    let canceller = DispatchQueue(label: "test.canceller")
    let rounds = Task {
      var generator = SeededGenerator(seed: seed)
      for _ in 0..<2_000 {
        let buffer = SnapshotBuffer<Int> { _, new in new }
        let listener = listener { buffer.add($0) }
        let subscription = SnapshotSubscription(buffer, ListenerHandle { listener.remove() })
        let task = Task {
          while try await subscription.next() != nil {}
        }
        present.withLock { $0 = listener }
        for _ in 0..<generator.below(20) { await Task.yield() }
        canceller.async { task.cancel() }
        try await task.value
      }
      ended.comes()
    }
    #expect(await ended.hasCome(withinSeconds: 120), "seed \(seed): a task or its cancellation does not end")
    isOver.store(true, ordering: .relaxed)
    if await ended.hasCome(withinSeconds: 0) { try await rounds.value }
  }

  @Test("remove() returns although its caller holds a lock that the running callback waits for")
  func lockOfTheCaller() async throws {
    let db = try await TestFirestore.offline()
    let listens: [@Sendable (@escaping @Sendable () -> Void) -> any ListenerRegistration] = [
      { call in db.collection("a").addSnapshotListener { _, _ in call() } },
      { call in db.document("a/b").addSnapshotListener { _, _ in call() } },
      { call in db.collection("a").count.addSnapshotListener { _, _ in call() } },
      { call in db.addSnapshotsInSyncListener { call() } },
    ]
    for (number, listen) in listens.enumerated() {
      let lock = NSLock()
      let (entered, isLocked, removed, left) = (Moment(), Moment(), Moment(), Moment())
      let calls = Mutex(0)
      let registration = UncheckedSendableBox(
        listen {
          calls.withLock { $0 += 1 }
          entered.comes()
          isLocked.wait()
          lock.withLock {}
          left.comes()
        })
      Thread.detachNewThread {
        entered.wait()
        lock.withLock {
          isLocked.comes()
          registration.value.remove()
        }
        removed.comes()
      }
      #expect(await removed.hasCome(), "listener \(number)")
      #expect(await left.hasCome(), "listener \(number)")
      db.document("a/b").setData(["n": number], completion: nil)
      _ = try await db.collection("a").getDocuments(source: .cache)
      await withCheckedContinuation { continuation in
        db.settings.dispatchQueue.async { continuation.resume() }
      }
      #expect(calls.withLock { $0 } == 1, "listener \(number)")
    }
    try await db.terminate()
  }

  @Test("an event whose callback has not started is dropped")
  func waitingEvents() async {
    let queue = DispatchQueue(label: "test")
    let calls = Counter()
    let listener = listener(on: queue) { _ in calls.increment() }
    queue.suspend()
    for number in 0..<3 { listener.deliver(number) }
    listener.remove()
    queue.resume()
    await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    #expect(calls.value == 0)
  }

  @Test("a callback that runs does not hold up remove(), is the last one, and keeps its captures until it returns")
  func runningCallback() async throws {
    for queue in [nil, DispatchQueue(label: "test")] {
      let (entered, gate, delivered) = (Moment(), Moment(), Moment())
      let (removed, released) = (Moment(), Moment())
      let calls = Counter()
      var thing: Releasing? = Releasing { released.comes() }
      let listener = listener(on: queue) { [thing] _ in
        withExtendedLifetime(thing) {
          calls.increment()
          entered.comes()
          gate.wait()
        }
      }
      thing = nil
      Thread.detachNewThread {
        listener.deliver(1)
        listener.deliver(2)
        delivered.comes()
      }
      #expect(await entered.hasCome())
      Thread.detachNewThread {
        listener.remove()
        removed.comes()
      }
      #expect(await removed.hasCome())
      #expect(await !released.hasCome(withinSeconds: 0))
      gate.comes()
      #expect(await delivered.hasCome())
      #expect(await released.hasCome())
      if let queue { await withCheckedContinuation { continuation in queue.async { continuation.resume() } } }
      #expect(calls.value == 1)
    }
  }

  @Test("a direct listener can be removed in its callback")
  func removalInside() {
    let holder = Mutex<Listener<Int>?>(nil)
    let calls = Counter()
    let listener = listener { _ in
      calls.increment()
      holder.withLock { $0 }?.remove()
    }
    holder.withLock { $0 = listener }
    for number in 0..<3 { listener.deliver(number) }
    #expect(calls.value == 1)
  }

  @Test("an object that a callback has captured may remove the listener when it is released")
  func removalAtRelease() {
    let holder = Mutex<Listener<Int>?>(nil)
    let released = Moment()
    var thing: Releasing? = Releasing {
      holder.withLock { $0 }?.remove()
      released.comes()
    }
    let listener = listener { [thing] _ in withExtendedLifetime(thing) {} }
    thing = nil
    holder.withLock { $0 = listener }
    listener.remove()
    #expect(released.wait(seconds: 0))
  }

  @Test("an object that an observer of a bundle has captured may remove observers when it is released")
  func observersOfBundles() {
    let task = LoadBundleTask(queue: DispatchQueue(label: "test"))
    func observe(_ released: Moment) -> LoadBundleObserverHandle {
      let thing = Releasing {
        task.removeObserverWith(handle: 1)
        task.removeAllObservers()
        released.comes()
      }
      return task.addObserver { _ in withExtendedLifetime(thing) {} }
    }
    let (first, second) = (Moment(), Moment())
    task.removeObserverWith(handle: observe(first))
    #expect(first.wait(seconds: 0))
    _ = observe(second)
    task.removeAllObservers()
    #expect(second.wait(seconds: 0))
  }

  @Test("the log handler may wait for another thread that uses the same client while it starts")
  func logHandler() async throws {
    CapturedLog.begin()
    let host = "\(UUID().uuidString.lowercased()).invalid"
    let db = try TestFirestore(host: "\(host):1").firestore
    let settings = db.settings
    settings.credentials = IDTokenCredentials(userID: "alice") { _ in nil }
    db.settings = settings
    let (other, handled) = (Moment(), Moment())
    CapturedLog.react(to: host) {
      Thread.detachNewThread {
        _ = db.collection("a")
        other.comes()
      }
      if other.wait() { handled.comes() }
    }
    try await db.disableNetwork()
    #expect(await handled.hasCome(withinSeconds: 0))
    try await db.terminate()
  }
}
