/// A queue: first in, first out. Operations at both ends take constant time on average.
struct FirstInQueue<Element> {
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
