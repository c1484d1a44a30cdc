import Testing

@testable import HearthServer

@Suite("The schedule of reads")
struct ReadScheduleTests {
  @Test("runs as many as it has slots, and starts the next when one ends")
  func slots() {
    var schedule = ReadSchedule(slots: 2, seats: 4)
    #expect(schedule.add(1) == [.start(1)])
    #expect(schedule.add(2) == [.start(2)])
    #expect(schedule.add(3) == [])
    #expect(schedule.finish(1) == [.start(3)])
    #expect(!schedule.isIdle)
    #expect(schedule.finish(2) == [])
    #expect(schedule.finish(3) == [])
    #expect(schedule.isIdle)
  }

  @Test("lets a long read go on while nobody waits")
  func alone() {
    var schedule = ReadSchedule(slots: 2, seats: 4)
    _ = schedule.add(1)
    for _ in 0..<3 {
      let (pause, actions) = schedule.pause(1)
      #expect(pause == .goOn)
      #expect(actions == [])
    }
  }

  @Test("gives short reads the slot of one of two long ones, and the long one goes on after the second of them")
  func halves() {
    var schedule = ReadSchedule(slots: 2, seats: 4)
    _ = schedule.add(1)
    _ = schedule.add(2)
    _ = schedule.pause(1)
    _ = schedule.pause(2)
    #expect(schedule.add(3) == [])
    let first = schedule.pause(1)
    #expect(first.pause == .wait)
    #expect(first.actions == [.start(3)])
    #expect(schedule.add(4) == [])
    // One slot each: the long read that runs keeps its slot, or takes turns with the other long one.
    let second = schedule.pause(2)
    #expect(second.pause == .wait)
    #expect(second.actions == [.resume(1)])
    #expect(schedule.finish(3) == [.start(4)])
    #expect(schedule.finish(4) == [.resume(2)])
  }

  @Test("starts a read over that turns out to be long when all seats are taken, after a seat is free")
  func seats() {
    var schedule = ReadSchedule(slots: 2, seats: 1)
    _ = schedule.add(1)
    _ = schedule.add(2)
    _ = schedule.pause(1)
    _ = schedule.add(3)
    let (pause, actions) = schedule.pause(2)
    #expect(pause == .startOver)
    #expect(actions == [.start(3)])
    #expect(schedule.finish(3) == [])
    #expect(schedule.finish(1) == [.start(2)])
    #expect(schedule.finish(2) == [])
    #expect(schedule.isIdle)
  }

  @Test("lets no read become long in a hold, and says when those that were long have ended")
  func hold() {
    var schedule = ReadSchedule(slots: 2, seats: 4)
    _ = schedule.add(1)
    _ = schedule.pause(1)
    #expect(schedule.hold() == [])
    #expect(schedule.add(2) == [.start(2)])
    #expect(schedule.pause(1).pause == .goOn)
    #expect(schedule.pause(2).pause == .startOver)
    #expect(schedule.leave() == [])
    #expect(schedule.add(3) == [.start(3)])
    #expect(schedule.finish(3) == [])
    #expect(schedule.finish(1) == [.drained])
    #expect(schedule.hold() == [], "once for each hold")
    #expect(schedule.release() == [.start(2)])
    #expect(schedule.pause(2).pause == .goOn)
  }

  @Test("a hold without long reads is over at once, but not before a read that starts over has let its state go")
  func emptyHold() {
    var schedule = ReadSchedule(slots: 2, seats: 4)
    #expect(schedule.hold() == [.drained])
    #expect(schedule.release() == [])
    var later = ReadSchedule(slots: 2, seats: 1)
    for read in 1...3 { _ = later.add(read) }
    _ = later.pause(1)
    #expect(later.pause(2).pause == .startOver)
    #expect(later.finish(1) == [.start(2)])
    #expect(later.finish(2) == [])
    #expect(later.hold() == [])
    #expect(later.leave() == [.drained])
  }

  @Test("stops long reads, also those in the middle, and gives one up that was stopped too often")
  func stopped() {
    var schedule = ReadSchedule(slots: 2, seats: 4)
    _ = schedule.add(1)
    _ = schedule.pause(1)
    for _ in 0..<ReadSchedule.maximumStops {
      #expect(schedule.hold() == [])
      schedule.stopLong()
      #expect(schedule.pause(1).pause == .startOver)
      #expect(schedule.leave() == [.drained])
      #expect(schedule.release() == [.start(1)])
    }
    #expect(schedule.hold() == [])
    schedule.stopLong()
    #expect(schedule.pause(1).pause == .giveUp)
    #expect(schedule.finish(1) == [.drained])
    #expect(schedule.release() == [])
    #expect(schedule.isIdle)
  }

  @Test("ends all reads in any order of events, with no more running than slots and no more in the middle than seats")
  func anyOrder() {
    for seed in 0..<200 as Range<UInt64> {
      var random = seed &* 0x9E37_79B9_7F4A_7C15
      func next(_ limit: Int) -> Int {
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(random >> 33) % limit
      }
      var schedule = ReadSchedule(slots: 2 + next(3), seats: 1 + next(4))
      var running: Set<Int> = []
      var paused: Set<Int> = []
      var ended: Set<Int> = []
      var (added, steps, leaving) = (0, 0, 0)
      // From a hold to its release no read becomes long; it is released when it is drained, and not before.
      var (isHeld, isDrained) = (false, false)
      func perform(_ actions: [ReadSchedule.Action]) {
        for action in actions {
          switch action {
          case .start(let read): #expect(running.insert(read).inserted && !paused.contains(read))
          case .resume(let read): #expect(running.insert(read).inserted && paused.remove(read) != nil)
          case .drained:
            #expect(isHeld && !isDrained && paused.isEmpty && leaving == 0)
            isDrained = true
          }
        }
        #expect(running.count <= schedule.slots)
        #expect(paused.count <= schedule.seats)
      }
      while ended.count < 40, steps < 10_000 {
        steps += 1
        var withAnother = schedule
        #expect(schedule.hasRoom == (withAnother.add(-1) == [.start(-1)]), "seed \(seed), step \(steps)")
        let someRunning = running.sorted().dropFirst(next(max(running.count, 1))).first
        if isDrained, next(3) == 0 {
          (isHeld, isDrained) = (false, false)
          perform(schedule.release())
        } else if !isHeld, next(10) == 0 {
          isHeld = true
          perform(schedule.hold())
          if next(2) == 0 { schedule.stopLong() }
        } else if leaving > 0, next(2) == 0 {
          leaving -= 1
          perform(schedule.leave())
        } else if added < 40, someRunning == nil || next(3) == 0 {
          added += 1
          perform(schedule.add(added))
        } else if let read = someRunning, next(2) == 0 {
          running.remove(read)
          ended.insert(read)
          perform(schedule.finish(read))
        } else if let read = someRunning {
          running.remove(read)
          let (pause, actions) = schedule.pause(read)
          switch pause {
          case .goOn: running.insert(read)
          case .wait: paused.insert(read)
          case .startOver: leaving += 1
          case .giveUp:
            ended.insert(read)
            perform(schedule.finish(read))
          }
          perform(actions)
        }
      }
      #expect(ended.count == 40, "seed \(seed)")
      #expect(schedule.isIdle)
    }
  }
}
