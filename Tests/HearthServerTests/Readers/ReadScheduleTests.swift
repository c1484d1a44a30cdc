import Testing

@testable import HearthServer

@Suite("The schedule of reads")
struct ReadScheduleTests {
  @Test("runs as many as it has slots, and starts the next when one ends")
  func slots() {
    var schedule = ReadSchedule(slots: 2, seats: 4)
    #expect(schedule.add(1, of: 0) == [.start(1)])
    #expect(schedule.add(2, of: 0) == [.start(2)])
    #expect(schedule.add(3, of: 0) == [])
    #expect(schedule.finish(1) == [.start(3)])
    #expect(!schedule.isIdle(0))
    #expect(schedule.finish(2) == [])
    #expect(schedule.finish(3) == [])
    #expect(schedule.isIdle(0))
  }

  @Test("lets a long read go on while nobody waits")
  func alone() {
    var schedule = ReadSchedule(slots: 2, seats: 4)
    _ = schedule.add(1, of: 0)
    for _ in 0..<3 {
      let (pause, actions) = schedule.pause(1)
      #expect(pause == .goOn)
      #expect(actions == [])
    }
  }

  @Test("gives short reads the slot of one of two long ones, and the long one goes on after the second of them")
  func halves() {
    var schedule = ReadSchedule(slots: 2, seats: 4)
    _ = schedule.add(1, of: 0)
    _ = schedule.add(2, of: 0)
    _ = schedule.pause(1)
    _ = schedule.pause(2)
    #expect(schedule.add(3, of: 0) == [])
    let first = schedule.pause(1)
    #expect(first.pause == .wait)
    #expect(first.actions == [.start(3)])
    #expect(schedule.add(4, of: 0) == [])
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
    _ = schedule.add(1, of: 0)
    _ = schedule.add(2, of: 0)
    _ = schedule.pause(1)
    _ = schedule.add(3, of: 0)
    let (pause, actions) = schedule.pause(2)
    #expect(pause == .startOver)
    #expect(actions == [], "it has its connection until it leaves")
    #expect(schedule.leave(2) == [.start(3)])
    #expect(schedule.finish(3) == [])
    #expect(schedule.finish(1) == [.start(2)])
    #expect(schedule.finish(2) == [])
    #expect(schedule.isIdle(0))
  }

  @Test("a read does not wait for the many that another sender has sent before")
  func senders() {
    var schedule = ReadSchedule(slots: 2, seats: 2)
    for read in 1...100 { _ = schedule.add(read, of: 0, by: "many") }
    _ = schedule.add(101, of: 0, by: "few")
    _ = schedule.add(102, of: 0, by: "few")
    // One of each in turn.
    #expect(schedule.finish(1) == [.start(3)])
    #expect(schedule.finish(2) == [.start(101)])
    #expect(schedule.finish(3) == [.start(4)])
    #expect(schedule.finish(4) == [.start(102)])
    #expect(schedule.finish(101) == [.start(5)])
    #expect(schedule.add(103, of: 0, by: "few") == [])
    #expect(schedule.finish(5) == [.start(6)])
    #expect(schedule.finish(102) == [.start(103)])
  }

  @Test("lets no read become long in a hold, and says when those that were long have ended")
  func hold() {
    var schedule = ReadSchedule(slots: 2, seats: 4)
    _ = schedule.add(1, of: 0)
    _ = schedule.pause(1)
    #expect(schedule.hold(0) == [])
    #expect(schedule.add(2, of: 0) == [.start(2)])
    #expect(schedule.pause(1).pause == .goOn)
    #expect(schedule.pause(2).pause == .startOver)
    #expect(schedule.leave(2) == [])
    #expect(schedule.add(3, of: 0) == [.start(3)])
    #expect(schedule.finish(3) == [])
    #expect(schedule.finish(1) == [.drained(0)])
    #expect(schedule.hold(0) == [], "once for each hold")
    #expect(schedule.release(0) == [.start(2)])
    #expect(schedule.pause(2).pause == .goOn)
  }

  @Test("a hold without long reads is over at once, but not before a read that starts over has let its state go")
  func emptyHold() {
    var schedule = ReadSchedule(slots: 2, seats: 4)
    #expect(schedule.hold(0) == [.drained(0)])
    #expect(schedule.release(0) == [])
    var later = ReadSchedule(slots: 2, seats: 1)
    for read in 1...3 { _ = later.add(read, of: 0) }
    _ = later.pause(1)
    #expect(later.pause(2).pause == .startOver)
    #expect(later.finish(1) == [.start(3)])
    #expect(later.finish(3) == [])
    #expect(later.hold(0) == [])
    #expect(later.leave(2) == [.drained(0)])
    #expect(later.release(0) == [.start(2)])
  }

  @Test("stops long reads, also those in the middle, and gives one up that was stopped too often")
  func stopped() {
    var schedule = ReadSchedule(slots: 2, seats: 4)
    _ = schedule.add(1, of: 0)
    _ = schedule.pause(1)
    for _ in 0..<ReadSchedule.maximumStops {
      #expect(schedule.hold(0, stopsReads: true) == [])
      #expect(schedule.pause(1).pause == .startOver)
      #expect(schedule.leave(1) == [.drained(0)])
      #expect(schedule.release(0) == [.start(1)])
    }
    #expect(schedule.hold(0, stopsReads: true) == [])
    #expect(schedule.pause(1).pause == .giveUp)
    #expect(schedule.finish(1) == [.drained(0)])
    #expect(schedule.release(0) == [])
    #expect(schedule.isIdle(0))
  }

  @Test("a hold that begins to stop reads lets none begin, and is drained again when no read is left")
  func stoppedLater() {
    var schedule = ReadSchedule(slots: 2, seats: 4)
    _ = schedule.add(1, of: 0)
    #expect(schedule.hold(0) == [.drained(0)])
    #expect(schedule.isStopped(0) == false)
    #expect(schedule.hold(0, stopsReads: true) == [])
    #expect(schedule.isStopped(0) == nil && !schedule.hasRoom(0) && schedule.hasRoom(1))
    #expect(schedule.add(2, of: 0) == [])
    #expect(schedule.add(3, of: 1) == [.start(3)])
    #expect(schedule.finish(1) == [.drained(0)])
    #expect(schedule.isStopped(0) == true)
    #expect(schedule.hold(0, stopsReads: true) == [])
    #expect(schedule.release(0) == [.start(2)])
    #expect(schedule.isStopped(0) == nil)
  }

  @Test("files take turns: a short read waits for one of each other file, however many these have")
  func turnsOfShortReads() {
    var schedule = ReadSchedule(slots: 2, seats: 4)
    for read in 1...100 { _ = schedule.add(read, of: 1) }
    _ = schedule.add(101, of: 2)
    _ = schedule.add(102, of: 3)
    #expect(schedule.finish(1) == [.start(3)])
    #expect(schedule.finish(2) == [.start(101)])
    #expect(schedule.finish(3) == [.start(102)])
    #expect(schedule.finish(101) == [.start(4)])
  }

  @Test("files take turns for seats, and reads that wait for one come before those that become long later")
  func turnsForSeats() {
    var schedule = ReadSchedule(slots: 2, seats: 2)
    for read in 1...2 { _ = schedule.add(read, of: 1) }
    for read in 1...2 { #expect(schedule.pause(read).pause == .goOn) }
    _ = schedule.add(3, of: 1)
    #expect(schedule.pause(1).actions == [.start(3)])
    #expect(schedule.pause(3).pause == .startOver)
    #expect(schedule.leave(3) == [.resume(1)])
    _ = schedule.add(4, of: 2)
    #expect(schedule.pause(2).actions == [.start(4)])
    #expect(schedule.pause(4).pause == .startOver)
    #expect(schedule.leave(4) == [.resume(2)])
    for read in 5...6 { _ = schedule.add(read, of: 1) }
    #expect(schedule.finish(1) == [.start(5)])
    #expect(schedule.pause(5).pause == .startOver, "a seat is free, but 3 and 4 wait for it")
    #expect(schedule.leave(5) == [.start(6)])
    #expect(schedule.finish(6) == [.start(3)])
    #expect(schedule.finish(2) == [.start(4)], "of the other file")
    #expect(schedule.finish(4) == [.start(5)])
  }

  @Test("a hold concerns the reads of its file only")
  func holdOfOneFile() {
    var schedule = ReadSchedule(slots: 4, seats: 4)
    _ = schedule.add(1, of: 1)
    _ = schedule.add(2, of: 2)
    _ = schedule.pause(1)
    _ = schedule.pause(2)
    #expect(schedule.hold(1, stopsReads: true) == [])
    #expect(schedule.pause(2).pause == .goOn)
    _ = schedule.add(3, of: 2)
    #expect(schedule.pause(3).pause == .goOn)
    #expect(schedule.pause(1).pause == .startOver)
    #expect(schedule.leave(1) == [.drained(1)])
    #expect(!schedule.isIdle(1) && schedule.waitingCount(1) == 1 && schedule.waitingCount(2) == 0)
    #expect(schedule.release(1) == [.start(1)])
  }

  @Test("a read without a connection waits, first of its file, for one that is there; one more is tried later")
  func lackOfConnections() {
    var schedule = ReadSchedule(slots: 3, seats: 4)
    for read in 1...3 { _ = schedule.add(read, of: 1) }
    _ = schedule.add(4, of: 1)
    _ = schedule.add(5, of: 2)
    #expect(schedule.lack(2, connections: 1) == [.start(5)], "its slot goes to another file")
    #expect(schedule.lack(3, connections: 1) == [])
    #expect(!schedule.hasRoom(1) && schedule.hasRoom(2))
    #expect(schedule.finish(1) == [.start(3), .start(2)])
    #expect(schedule.lack(2, connections: 1) == [])
    #expect(schedule.finish(5) == [])
    #expect(schedule.finish(3) == [.start(2), .start(4)])
    #expect(schedule.finish(2) == [])
    #expect(schedule.finish(4) == [])
    #expect(schedule.isIdle(1) && schedule.isIdle(2))
  }

  @Test("ends all reads in any order of events, with no more running than slots and no more in the middle than seats")
  func anyOrder() {
    for seed in 0..<300 as Range<UInt64> {
      var random = seed &* 0x9E37_79B9_7F4A_7C15
      func next(_ limit: Int) -> Int {
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(random >> 33) % limit
      }
      var schedule = ReadSchedule(slots: 2 + next(3), seats: 1 + next(4))
      let files = 1 + next(3)
      func file(_ read: Int) -> Int { read % files }
      var running: Set<Int> = []
      var paused: Set<Int> = []
      var leaving: Set<Int> = []
      var ended: Set<Int> = []
      var (added, steps, lacks) = (0, 0, 0)
      // From a hold to its release no read of the file becomes long; it is released when it is drained, and not before.
      // In one that stops reads, none begins.
      var (held, drained, stopped): (Set<Int>, Set<Int>, Set<Int>) = ([], [], [])
      func perform(_ actions: [ReadSchedule.Action]) {
        for action in actions {
          switch action {
          case .start(let read):
            #expect(running.insert(read).inserted && !paused.contains(read) && !leaving.contains(read))
            #expect(!stopped.contains(file(read)))
          case .resume(let read): #expect(running.insert(read).inserted && paused.remove(read) != nil)
          case .drained(let id):
            #expect(held.contains(id) && drained.insert(id).inserted)
            let begun = paused.union(leaving).union(stopped.contains(id) ? running : [])
            #expect(begun.allSatisfy { file($0) != id })
            #expect(schedule.isStopped(id) == stopped.contains(id))
          }
        }
        #expect(running.count + leaving.count <= schedule.slots)
        #expect(paused.count <= schedule.seats)
        #expect(schedule.runningCount == running.count + leaving.count)
        #expect(schedule.begunCount == running.count + leaving.count + paused.count)
        #expect(schedule.begunCount <= schedule.slots + schedule.seats)
      }
      while ended.count < 40, steps < 10_000 {
        steps += 1
        var withAnother = schedule
        let other = next(files)
        #expect(
          schedule.hasRoom(other) == (withAnother.add(-1, of: other) == [.start(-1)]), "seed \(seed), step \(steps)")
        let someRunning = running.sorted().dropFirst(next(max(running.count, 1))).first
        if let id = drained.first, next(3) == 0 {
          held.remove(id)
          drained.remove(id)
          stopped.remove(id)
          perform(schedule.release(id))
        } else if !stopped.contains(other), next(10) == 0 {
          held.insert(other)
          // One that begins to stop reads is drained again.
          if next(2) == 0, stopped.insert(other).inserted { drained.remove(other) }
          perform(schedule.hold(other, stopsReads: stopped.contains(other)))
        } else if let read = leaving.first, next(2) == 0 {
          leaving.remove(read)
          perform(schedule.leave(read))
        } else if added < 40, someRunning == nil || next(3) == 0 {
          added += 1
          perform(schedule.add(added, of: file(added)))
        } else if let read = someRunning, lacks < 20, next(8) == 0,
          running.union(paused).union(leaving).contains(where: { $0 != read && file($0) == file(read) })
        {
          // The others of the file have the connections that there are.
          lacks += 1
          running.remove(read)
          let others = running.union(paused).union(leaving).count { file($0) == file(read) }
          perform(schedule.lack(read, connections: others))
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
          case .startOver: leaving.insert(read)
          case .giveUp:
            ended.insert(read)
            perform(schedule.finish(read))
          }
          perform(actions)
        }
      }
      #expect(ended.count == 40, "seed \(seed)")
      for id in 0..<files { #expect(schedule.isIdle(id)) }
    }
  }
}
