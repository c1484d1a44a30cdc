/// A read that waits for its turn.
struct WaitingRead: Equatable {
  var id: ReadSchedule.ReadID
  /// See ``CallSender``.
  var sender: String
}

/// The reads of one kind that wait. Those of one sender stand in the order of their arrival, and senders take turns with each read. So a read
/// does not wait for the many that another sender has sent before.
struct SharedReadQueue {
  private var reads: [String: FirstInQueue<WaitingRead>] = [:]
  /// The senders of `reads`, in the order of their turns.
  private var senders = FirstInQueue<String>()
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  mutating func append(_ read: WaitingRead) {
    count += 1
    if reads[read.sender]?.append(read) == nil {
      reads[read.sender] = FirstInQueue(read)
      senders.append(read.sender)
    }
  }

  /// Puts a taken read back: it is the first one of its sender, who has the next turn if nothing else of it waits.
  mutating func prepend(_ read: WaitingRead) {
    count += 1
    if reads[read.sender]?.prepend(read) == nil {
      reads[read.sender] = FirstInQueue(read)
      senders.prepend(read.sender)
    }
  }

  mutating func popFirst() -> WaitingRead? {
    assert(senders.count == reads.count, "\(reads.count) senders have reads, and \(senders.count) have turns")
    guard let sender = senders.popFirst(), let read = reads[sender]?.popFirst() else { return nil }
    count -= 1
    if reads[sender]?.isEmpty == true { reads[sender] = nil } else { senders.append(sender) }
    return read
  }
}
