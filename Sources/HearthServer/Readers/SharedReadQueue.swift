/// A read that waits for its turn.
struct WaitingRead: Equatable {
  var id: ReadSchedule.ReadID
  /// See ``CallSender``.
  var sender: String
}

/// The reads of one kind that wait. Those of one sender stand in the order of their arrival, and senders take turns with each read. So a read
/// does not wait for the many that another sender has sent before.
struct SharedReadQueue {
  private var reads: [String: ReadQueue<WaitingRead>] = [:]
  /// The senders of `reads`, in the order of their turns.
  private var senders = ReadQueue<String>()
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  mutating func append(_ read: WaitingRead) {
    count += 1
    if reads[read.sender]?.append(read) == nil {
      reads[read.sender] = ReadQueue(read)
      senders.append(read.sender)
    }
  }

  /// Puts a taken read back: it is the first one of its sender, who has the next turn if nothing else of it waits.
  mutating func prepend(_ read: WaitingRead) {
    count += 1
    if reads[read.sender]?.prepend(read) == nil {
      reads[read.sender] = ReadQueue(read)
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

/// A queue of reads, or of files or senders with reads: first in, first out. Operations at both ends take constant time on average.
struct ReadQueue<Element> {
  private var elements: [Element] = []
  private var head = 0

  init() {}

  init(_ element: Element) {
    elements = [element]
  }

  var count: Int { elements.count - head }
  var isEmpty: Bool { head == elements.count }

  mutating func append(_ element: Element) {
    elements.append(element)
  }

  /// Puts a taken element back.
  mutating func prepend(_ element: Element) {
    guard head > 0 else { return elements.insert(element, at: 0) }
    head -= 1
    elements[head] = element
  }

  mutating func popFirst() -> Element? {
    guard head < elements.count else { return nil }
    defer {
      head += 1
      if head == elements.count || head >= 64, head * 2 >= elements.count {
        elements.removeFirst(head)
        head = 0
      }
    }
    return elements[head]
  }
}
