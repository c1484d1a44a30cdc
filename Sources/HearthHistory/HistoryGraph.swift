/// The constraints on every order that explains a history: which node comes before which.
struct HistoryGraph {
  enum Kind: Hashable, Comparable {
    case readWrite
    case writeRead
    case writeWrite
    case time
  }

  struct Edge: Hashable {
    var kind: Kind
    var from: Int
    var to: Int
    /// The list from which the edge follows; "" for the time.
    var key: String
  }

  /// The number of transactions. Nodes from there on are points in time.
  private let count: Int
  private var edges: [[Edge]]

  init(count: Int) {
    self.count = count
    edges = Array(repeating: [], count: count)
  }

  mutating func add(_ kind: Kind, _ from: Int, _ to: Int, _ key: String) {
    if from != to { edges[from].append(Edge(kind: kind, from: from, to: to, key: key)) }
  }

  /// Every end is a point in time, before the next one and before all transactions that begin until then.
  ///
  /// - Parameter spans: The spans of the transactions. One without an end comes before nothing.
  mutating func addOrderOfTime(_ spans: [(began: UInt64, ended: UInt64?)]) {
    var events: [(time: UInt64, isEnd: Bool, index: Int)] = []
    for (index, span) in spans.enumerated() {
      events.append((span.began, false, index))
      if let ended = span.ended { events.append((ended, true, index)) }
    }
    events.sort { $0.time < $1.time }
    var point: Int?
    for event in events {
      if event.isEnd {
        let next = edges.count
        edges.append([])
        if let point { add(.time, point, next, "") }
        add(.time, event.index, next, "")
        point = next
      } else if let point {
        add(.time, point, event.index, "")
      }
    }
  }

  /// Finds a short cycle in each set of nodes that all lead to each other.
  ///
  /// - Returns: The cycles' edges in order. Points in time are left out: an edge of time leads from a transaction to a later one.
  func cycles(usingTime: Bool) -> [[Edge]] {
    components(usingTime: usingTime).compactMap { component in
      let members = Set(component)
      let starts = component.filter { $0 < count }.prefix(50)
      let cycles = starts.compactMap { cycle(through: $0, in: members, usingTime: usingTime) }
      return cycles.min { $0.count < $1.count }.map(withoutPoints)
    }
  }

  private func next(of node: Int, usingTime: Bool) -> [Edge] {
    usingTime ? edges[node] : edges[node].filter { $0.kind != .time }
  }

  /// Breadth first, so that the first cycle is a shortest one.
  private func cycle(through start: Int, in members: Set<Int>, usingTime: Bool) -> [Edge]? {
    var arrivals: [Int: Edge] = [:]
    var open = [start]
    while !open.isEmpty {
      var following: [Int] = []
      for node in open {
        for edge in next(of: node, usingTime: usingTime) where members.contains(edge.to) {
          if edge.to == start {
            var (cycle, node) = ([edge], edge.from)
            while node != start, let arrival = arrivals[node] {
              cycle.append(arrival)
              node = arrival.from
            }
            return cycle.reversed()
          }
          guard arrivals[edge.to] == nil else { continue }
          arrivals[edge.to] = edge
          following.append(edge.to)
        }
      }
      open = following
    }
    return nil
  }

  private func withoutPoints(_ cycle: [Edge]) -> [Edge] {
    guard let start = cycle.firstIndex(where: { $0.from < count }) else { return cycle }
    var result: [Edge] = []
    for edge in cycle[start...] + cycle[..<start] {
      if edge.from < count { result.append(edge) } else if let last = result.indices.last { result[last].to = edge.to }
    }
    return result
  }

  /// Tarjan's algorithm without recursion: the sets of more than one node that all lead to each other.
  private func components(usingTime: Bool) -> [[Int]] {
    var (order, low) = ([Int](repeating: -1, count: edges.count), [Int](repeating: 0, count: edges.count))
    var isOnStack = [Bool](repeating: false, count: edges.count)
    var (stack, counter): ([Int], Int) = ([], 0)
    var components: [[Int]] = []
    for root in edges.indices where order[root] < 0 {
      var calls: [(node: Int, following: [Int], position: Int)] = []
      func enter(_ node: Int) {
        (order[node], low[node], isOnStack[node]) = (counter, counter, true)
        counter += 1
        stack.append(node)
        calls.append((node, next(of: node, usingTime: usingTime).map(\.to), 0))
      }
      enter(root)
      while let call = calls.last {
        if call.position < call.following.count {
          calls[calls.count - 1].position += 1
          let following = call.following[call.position]
          if order[following] < 0 {
            enter(following)
          } else if isOnStack[following] {
            low[call.node] = min(low[call.node], order[following])
          }
          continue
        }
        calls.removeLast()
        if let parent = calls.last { low[parent.node] = min(low[parent.node], low[call.node]) }
        guard low[call.node] == order[call.node] else { continue }
        let first = stack.lastIndex(of: call.node) ?? 0
        let component = Array(stack[first...])
        stack.removeSubrange(first...)
        for node in component { isOnStack[node] = false }
        if component.count > 1 { components.append(component) }
      }
    }
    return components
  }
}
