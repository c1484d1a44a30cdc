@testable import HearthSync

/// Hands out stream ids 1, 2, 3 … as the engine does.
final class StreamIDs {
  private var last = 0

  func next() -> StreamID {
    last += 1
    return StreamID(rawValue: last)
  }
}

extension StreamID: ExpressibleByIntegerLiteral {
  package init(integerLiteral value: Int) {
    self.init(rawValue: value)
  }
}
