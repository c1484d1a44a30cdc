/// Numbers the streams of an engine, of both kinds in one sequence, so that no number is used twice.
final class StreamNumbers {
  private var last = 0

  func next() -> StreamID {
    last += 1
    return StreamID(rawValue: last)
  }
}
