#if PostgreSQL
  import TestSupport
  import Testing

  @testable import HearthPostgres

  @Suite("The callers of a pool")
  struct CallerQueueTests {
    private let start = ContinuousClock.now

    private func deadline(_ seconds: Int = 60) -> ContinuousClock.Instant { start + .seconds(seconds) }

    @Test("callers get idle lanes at once, and then those that are released, in the order of their arrival")
    func order() {
      var queue = CallerQueue(laneCount: 2)
      #expect(queue.add(1, deadline: deadline()) == .run(.init(caller: 1, lane: 0)))
      #expect(queue.add(2, deadline: deadline()) == .run(.init(caller: 2, lane: 1)))
      #expect(queue.add(3, deadline: deadline()) == .wait)
      #expect(queue.add(4, deadline: deadline()) == .wait)
      #expect(queue.busyCount == 2 && queue.waitingCount == 2)
      #expect(queue.release(1) == .init(caller: 3, lane: 1))
      #expect(queue.release(0) == .init(caller: 4, lane: 0))
      #expect(queue.release(1) == nil)
      #expect(queue.busyCount == 1 && queue.waitingCount == 0)
    }

    @Test("the lane that was used last is used first")
    func lastLane() {
      var queue = CallerQueue(laneCount: 3)
      for caller in 1...3 { _ = queue.add(caller, deadline: deadline()) }
      for lane in [2, 0, 1] { #expect(queue.release(lane) == nil) }
      #expect(queue.add(4, deadline: deadline()) == .run(.init(caller: 4, lane: 1)))
    }

    @Test("a caller that was removed gets no lane")
    func removal() {
      var queue = CallerQueue(laneCount: 1)
      for caller in 1...3 { _ = queue.add(caller, deadline: deadline()) }
      #expect(queue.remove(2) == true)
      #expect(queue.remove(2) == false)
      #expect(queue.remove(1) == false)
      #expect(queue.release(0) == .init(caller: 3, lane: 0))
    }

    @Test("callers expire at their deadlines, in the order of their arrival")
    func expiry() {
      var queue = CallerQueue(laneCount: 1)
      _ = queue.add(1, deadline: deadline(0))
      for (caller, seconds) in [(2, 5), (3, 2), (4, 9), (5, 5)] { _ = queue.add(caller, deadline: deadline(seconds)) }
      #expect(queue.earliestDeadline == deadline(2))
      #expect(queue.expire(at: deadline(1)) == [])
      #expect(queue.expire(at: deadline(5)) == [2, 3, 5])
      #expect(queue.earliestDeadline == deadline(9))
      #expect(queue.release(0) == .init(caller: 4, lane: 0))
      #expect(queue.earliestDeadline == nil)
    }

    @Test("senders take turns, and the callers of each are in the order of their arrival")
    func turns() {
      var queue = CallerQueue(laneCount: 1)
      let senders = [(1, "a"), (2, "a"), (3, "a"), (4, "a"), (5, "b"), (6, "c"), (7, "b")]
      for (caller, sender) in senders { _ = queue.add(caller, by: sender, deadline: deadline()) }
      var order: [Int] = []
      while let next = queue.release(0) { order.append(next.caller) }
      #expect(order == [2, 5, 6, 3, 7, 4])
    }

    @Test("a sender has no more lanes than its share, and others find one")
    func shares() {
      var queue = CallerQueue(laneCount: 3, share: 2)
      for caller in 1...4 { _ = queue.add(caller, by: "a", deadline: deadline()) }
      #expect(queue.busyCount == 2 && queue.waitingCount == 2)
      #expect(queue.add(5, by: "b", deadline: deadline()) == .run(.init(caller: 5, lane: 2)))
      #expect(queue.add(6, by: "b", deadline: deadline()) == .wait)
      #expect(queue.release(2) == .init(caller: 6, lane: 2), "the first sender has its share")
      #expect(queue.release(0) == .init(caller: 3, lane: 0))
      #expect(queue.release(2) == nil)
      #expect(queue.release(0) == .init(caller: 4, lane: 0))
    }

    @Test(
      "in random histories of several senders no caller waits beside an idle lane that it may have",
      arguments: SeededGenerator.seeds(50))
    func randomSenders(seed: UInt64) {
      var random = SeededGenerator(seed: seed)
      let (lanes, share) = (Int.random(in: 1...4, using: &random), Int.random(in: 1...4, using: &random))
      var queue = CallerQueue(laneCount: lanes, share: share)
      var waiting: [Int: String] = [:]
      var running: [Int: String] = [:]
      func count(_ sender: String) -> Int { running.values.count { $0 == sender } }
      for id in 0..<400 {
        let sender = ["a", "b", "c"][Int.random(in: 0..<3, using: &random)]
        switch Int.random(in: 0..<5, using: &random) {
        case 0...1:
          let hasRoom = count(sender) < share && running.count < lanes
          switch queue.add(id, by: sender, deadline: deadline()) {
          case .run(let assignment):
            #expect(hasRoom && running.updateValue(sender, forKey: assignment.lane) == nil)
          case .wait:
            #expect(!hasRoom)
            waiting[id] = sender
          case .refused: Issue.record("refused")
          }
        case 2...3:
          guard let lane = running.keys.sorted().randomElement(using: &random) else { continue }
          running[lane] = nil
          if let next = queue.release(lane) {
            let sender = waiting[next.caller] ?? ""
            #expect(count(sender) < share)
            #expect(waiting.filter { $0.value == sender }.keys.min() == next.caller)
            waiting[next.caller] = nil
            running[next.lane] = sender
          } else {
            #expect(waiting.values.allSatisfy { count($0) >= share })
          }
        default:
          guard let caller = waiting.keys.sorted().randomElement(using: &random) else { continue }
          waiting[caller] = nil
          #expect(queue.remove(caller) == true)
        }
        #expect(queue.waitingCount == waiting.count && queue.busyCount == running.count)
      }
    }

    @Test("a caller whose lane has no session is the first of its sender again, and the lane comes back later")
    func putBack() {
      var queue = CallerQueue(laneCount: 2)
      _ = queue.add(1, by: "a", deadline: deadline())
      _ = queue.add(2, by: "b", deadline: deadline())
      _ = queue.add(3, by: "a", deadline: deadline())
      _ = queue.add(4, by: "c", deadline: deadline())
      #expect(queue.putBack(2, from: 1, deadline: deadline()) == nil)
      #expect(queue.busyCount == 1 && queue.waitingCount == 3)
      #expect(queue.release(0) == .init(caller: 2, lane: 0))
      #expect(queue.restore(1) == .init(caller: 3, lane: 1))
      #expect(queue.putBack(3, from: 1, deadline: deadline()) == nil)
      #expect(queue.add(5, by: "a", deadline: deadline()) == .wait)
      #expect(queue.release(0) == .init(caller: 3, lane: 0), "before a later caller of its sender")
    }

    @Test("a caller whose lane has no session gets an idle lane")
    func putBackBesideIdle() {
      var queue = CallerQueue(laneCount: 2)
      _ = queue.add(1, deadline: deadline())
      _ = queue.add(2, deadline: deadline())
      #expect(queue.release(0) == nil)
      #expect(queue.putBack(2, from: 1, deadline: deadline()) == .init(caller: 2, lane: 0))
      #expect(queue.release(0) == nil)
      #expect(queue.restore(1) == nil)
      #expect(queue.busyCount == 0 && queue.waitingCount == 0)
    }

    @Test("a closed queue refuses callers, gives up those that wait, and takes back its lanes")
    func closing() {
      var queue = CallerQueue(laneCount: 1)
      for caller in 1...3 { _ = queue.add(caller, deadline: deadline()) }
      #expect(queue.close() == [2, 3])
      #expect(queue.close() == [])
      #expect(queue.add(4, deadline: deadline()) == .refused)
      #expect(queue.release(0) == nil)
      #expect(queue.busyCount == 0)
    }

    @Test(
      "each caller of random histories gets one lane, expires or is removed, and no lane is given twice",
      arguments: SeededGenerator.seeds(50))
    func randomHistories(seed: UInt64) {
      var random = SeededGenerator(seed: seed)
      var queue = CallerQueue(laneCount: Int.random(in: 1...4, using: &random))
      var now = start
      var waiting: [(id: Int, deadline: ContinuousClock.Instant)] = []
      var running: [Int: Int] = [:]
      var unusable: Set<Int> = []
      func run(_ assignment: CallerQueue.Assignment) {
        #expect(running.updateValue(assignment.caller, forKey: assignment.lane) == nil)
      }
      for id in 0..<400 {
        switch Int.random(in: 0..<8, using: &random) {
        case 6:
          guard let lane = running.keys.sorted().randomElement(using: &random), let caller = running[lane] else {
            continue
          }
          running[lane] = nil
          unusable.insert(lane)
          if let next = queue.putBack(caller, from: lane, deadline: now) {
            #expect(waiting.isEmpty && next.caller == caller)
            run(next)
          } else {
            waiting.insert((caller, now), at: 0)
          }
        case 7:
          guard let lane = unusable.sorted().randomElement(using: &random) else { continue }
          unusable.remove(lane)
          if let next = queue.restore(lane) {
            #expect(next.caller == waiting.removeFirst().id)
            run(next)
          } else {
            #expect(waiting.isEmpty)
          }
        case 0...2:
          let deadline = now + .milliseconds(Int.random(in: 0...50, using: &random))
          switch queue.add(id, deadline: deadline) {
          case .run(let assignment): run(assignment)
          case .wait: waiting.append((id, deadline))
          case .refused: Issue.record("refused")
          }
        case 3:
          guard let lane = running.keys.sorted().randomElement(using: &random) else { continue }
          running[lane] = nil
          if let next = queue.release(lane) {
            #expect(next.caller == waiting.removeFirst().id)
            run(next)
          } else {
            #expect(waiting.isEmpty)
          }
        case 4:
          guard let index = waiting.indices.randomElement(using: &random) else { continue }
          #expect(queue.remove(waiting.remove(at: index).id) == true)
        default:
          now += .milliseconds(5)
          let moment = now
          let expected = waiting.filter { $0.deadline <= moment }.map(\.id).sorted()
          #expect(queue.expire(at: now) == expected)
          waiting.removeAll { $0.deadline <= moment }
        }
        #expect(queue.waitingCount == waiting.count)
        #expect(queue.busyCount == running.count)
      }
    }
  }

  @Suite("The pause before a session is opened again")
  struct OpeningPauseTests {
    private let start = ContinuousClock.now
    private let gone = PostgresError(.connection, "gone")

    @Test("attempts are made until one fails, and then one after each pause")
    func pauses() {
      var pause = OpeningPause()
      for _ in 0..<3 { #expect(pause.begin(at: start) == nil) }
      pause.fail(gone, at: start, jitter: 1)
      #expect(pause.begin(at: start) as? PostgresError == gone)
      let end = start + PostgresPool.shortestPause
      #expect(pause.begin(at: end) == nil)
      #expect(pause.begin(at: end) as? PostgresError == gone, "one attempt at a time")
      pause.fail(nil, at: end, jitter: 1)
      #expect(pause.begin(at: end + PostgresPool.shortestPause) as? PostgresError == gone)
      #expect(pause.begin(at: end + PostgresPool.shortestPause * 2) == nil)
      pause.succeed()
      for _ in 0..<3 { #expect(pause.begin(at: start) == nil) }
    }

    @Test("an attempt that says nothing about the server is not held against it")
    func hastyAttempt() {
      var pause = OpeningPause()
      pause.fail(nil, at: start, jitter: 0)
      #expect(pause.begin(at: start) == nil)
    }

    @Test("pauses double up to the longest one, with a random half")
    func lengths() {
      #expect(OpeningPause.pause(after: 1, 1) == .milliseconds(50))
      #expect(OpeningPause.pause(after: 1, 0) == .milliseconds(25))
      #expect(OpeningPause.pause(after: 3, 1) == .milliseconds(200))
      for failures in [10, 1000, .max] { #expect(OpeningPause.pause(after: failures, 1) == PostgresPool.longestPause) }
    }
  }
#endif
