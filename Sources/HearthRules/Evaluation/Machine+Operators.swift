extension Machine {
  /// The value of an operator or function, which fails if an operand does.
  mutating func value(of instruction: Program.Instruction) throws(RuleFailure) -> RuleValue {
    switch instruction {
    case .binary(let infix):
      let (left, right) = try popTwo()
      try spend(Operators.work(infix, left, right))
      return try bounded(try Operators.binary(infix, left, right))
    case .method(let method, let pattern): return try call(method, pattern)
    case .index:
      let (base, index) = try popTwo()
      // The units of a string are counted from its beginning.
      if case .string = base { try spend(base.weight) }
      return try Operators.index(base, index)
    case .slice:
      let values = try popValues(3)
      try spend(values[0].weight)
      return try Operators.slice(values[0], from: values[1], to: values[2])
    case .not:
      let value = try popValue()
      guard case .bool(let flag) = value else { throw .unsupported("!", types: [value.typeName]) }
      return .bool(!flag)
    case .negate: return try Operators.negated(try popValue())
    case .typeTest(let type): return .bool(try type.contains(try popValue()))
    case .list(let count): return try bounded(.list(try Self.decided(try popValues(Int(count)))))
    case .map(let count): return try bounded(try Self.map(try Self.decided(try popValues(2 * Int(count)))))
    case .path(let index): return try bounded(.path(try path(rules.program.paths[Int(index)])))
    case .builtin(let builtin, let count): return try call(builtin, try popValues(Int(count)))
    case .refuse(let failure, let count):
      _ = try popValues(Int(count))
      throw rules.program.failures[Int(failure)]
    default: preconditionFailure("\(instruction) has no value of its own")
    }
  }

  private mutating func popValue() throws(RuleFailure) -> RuleValue { try pop().get() }

  private mutating func popTwo() throws(RuleFailure) -> (RuleValue, RuleValue) {
    let right = pop()
    let left = pop()
    return (try left.get(), try right.get())
  }

  /// Calls a method of a value.
  private mutating func call(_ method: Method, _ pattern: Int32) throws(RuleFailure) -> RuleValue {
    let count = method.argumentCount
    let second = count > 1 ? pop() : .success(.null)
    let first = count > 0 ? pop() : .success(.null)
    let base = try popValue()
    let arguments = MethodArguments(try first.get(), try second.get(), count: count)
    // A regular expression reads its text more slowly than others.
    let factor = method.hasPattern ? 4 : 1
    try spend(base.weight, times: factor)
    if count > 0 { try spend(arguments.first.weight, times: factor) }
    if count > 1 { try spend(arguments.second.weight, times: factor) }
    if method == .toSet || base.isSet || arguments.first.isSet || arguments.second.isSet {
      try spend(RuleValue.workOfCollisions(in: [base] + arguments.all))
    }
    let compiled = pattern >= 0 ? rules.program.patterns[Int(pattern)] : nil
    if method.hasPattern, compiled == nil, case .string(let text) = arguments.first {
      try spend(Methods.workOfCompiling(text))
    }
    var methods = Methods(limits: rules.limits.resources)
    // Also those of a call that fails. The limit is looked at by the next one.
    defer { workDone = workDone.addingOrMax(methods.steps) }
    return try bounded(try methods.call(method, on: base, arguments, compiled))
  }

  private static func map(_ items: [RuleValue]) throws(RuleFailure) -> RuleValue {
    var fields: [ExactText: RuleValue] = [:]
    for index in stride(from: 0, to: items.count, by: 2) {
      guard case .string(let key) = items[index] else { throw .wrongType(items[index].typeName, expected: "string") }
      fields[ExactText(key)] = items[index + 1]
    }
    return .map(RuleMap(fields))
  }

  /// The members of a list or a map. What a query leaves open cannot be one: comparisons within lists know no third answer.
  private static func decided(_ values: [RuleValue]) throws(RuleFailure) -> [RuleValue] {
    for value in values {
      switch value {
      case .constraint(let constraint): throw .undecided(constraint.field)
      case .partialMap(let map): throw .undecided(map.name)
      default: continue
      }
    }
    return values
  }

  private mutating func path(_ template: [Program.PathPart]) throws(RuleFailure) -> RulePath {
    let count = template.count { part in
      if case .expression = part { true } else { false }
    }
    var values = try popValues(count)[...]
    var segments: [RulePath.Segment] = []
    for part in template {
      switch part {
      case .segment(let segment): segments.append(segment)
      case .expression:
        guard let value = values.popFirst() else { continue }
        try spend(value.weight)
        if case .path(let path) = value {
          segments += path.segments
        } else {
          segments.append(.text(try value.converted()))
        }
      }
    }
    return try RulePath(template: segments)
  }

  // MARK: - Bounds

  /// Counts the work of an operator or function before it is carried out.
  mutating func spend(_ weight: Int, times factor: Int = 1) throws(RuleFailure) {
    workDone = workDone.addingOrMax(min(weight, .max / factor) * factor)
    let most = rules.limits.resources.work
    guard workDone <= most else { throw .tooMuchWork(limit: most) }
  }

  func bounded(_ value: RuleValue) throws(RuleFailure) -> RuleValue {
    let resources = rules.limits.resources
    guard value.weight <= resources.valueWeight else { throw .valueTooLarge(limit: resources.valueWeight) }
    guard value.depth <= resources.valueDepth else { throw .valueTooDeep(limit: resources.valueDepth) }
    return value
  }
}
