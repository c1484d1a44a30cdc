/// The calls between functions.
struct CallGraph {
  private var callees: [[Int]]

  init(functionCount: Int) { callees = Array(repeating: [], count: functionCount) }

  mutating func add(from caller: Int, to callee: Int) { callees[caller].append(callee) }

  enum Defect {
    case cycle([Int])
    case tooDeep(Int)
  }

  /// Looks for functions that call themselves through others, and for calls that are nested too deeply. It computes the depth of a function
  /// when all that it calls have one, so that what is left is in a cycle or calls one.
  func firstDefect(deepest: Int) -> Defect? {
    var callers: [[Int]] = Array(repeating: [], count: callees.count)
    var missing = callees.map(\.count)
    for (caller, list) in callees.enumerated() { for callee in list { callers[callee].append(caller) } }
    var depths = Array(repeating: 0, count: callees.count)
    var ready = missing.indices.filter { missing[$0] == 0 }
    var done = 0
    while let function = ready.popLast() {
      done += 1
      guard depths[function] <= deepest else { return .tooDeep(function) }
      for caller in callers[function] {
        depths[caller] = max(depths[caller], depths[function] + 1)
        missing[caller] -= 1
        if missing[caller] == 0 { ready.append(caller) }
      }
    }
    guard done < callees.count, let first = missing.indices.first(where: { missing[$0] > 0 }) else { return nil }
    // Every function that is left calls one that is left, so this way ends in a cycle.
    var way: [Int] = []
    var next = first
    while !way.contains(next) {
      way.append(next)
      guard let callee = callees[next].first(where: { missing[$0] > 0 }) else { return nil }
      next = callee
    }
    return .cycle(Array(way.drop { $0 != next }))
  }
}
