/// Carries out the steps of one condition after the other, for one request.
struct Machine {
  typealias Outcome = Result<RuleValue, RuleFailure>

  /// A call of a function that has not ended.
  struct Frame {
    /// The place of the first argument on the stack.
    let base: Int
    let returnStep: Int
    let callNode: Int32
  }

  let program: Program
  let limits: RuleLimits
  let request: RuleRequest
  let lookUp: (LookedUpDocument) -> DocumentLookup
  /// The variables of the matches, for the present condition.
  var captures: [Outcome] = []
  var stack: [Outcome] = []
  private var frames: [Frame] = []
  private(set) var expressionCount = 0
  /// The work of this request, and of those that share its bound.
  var workDone = 0
  /// True if a condition has seen the time of the request.
  private(set) var usesTime = false
  /// Documents that were looked up, in the order in which they were first needed.
  var documents: [LookedUpDocument] = []
  /// Documents of these that were not read.
  var unread: [LookedUpDocument] = []
  /// The values of nodes in the order in which they are complete; nil if nobody wants to know them.
  var trace: [RuleTrace.Entry]?

  init(
    _ program: Program, limits: RuleLimits, request: RuleRequest, isTraced: Bool,
    lookUp: @escaping (LookedUpDocument) -> DocumentLookup
  ) {
    self.program = program
    self.limits = limits
    self.request = request
    self.lookUp = lookUp
    trace = isTraced ? [] : nil
    stack.reserveCapacity(32)
  }

  /// Evaluates the condition that begins with a step.
  mutating func run(from start: Int32) -> Outcome {
    stack.removeAll(keepingCapacity: true)
    frames.removeAll(keepingCapacity: true)
    let deepest = limits.resources.valueDepth
    // A token can nest as deep as its issuer likes.
    guard request.request.depth <= deepest else { return .failure(.valueTooDeep(limit: deepest)) }
    var next = Int(start)
    while true {
      let step = program.steps[next]
      next += 1
      expressionCount += Int(step.cost)
      guard expressionCount <= limits.expressions else {
        return .failure(.tooManyExpressions(limit: limits.expressions))
      }
      switch step.instruction {
      case .constant(let index): stack.append(.success(program.constants[Int(index)]))
      case .local(let place): stack.append(stack[(frames.last?.base ?? 0) + Int(place)])
      case .capture(let place): stack.append(captures[Int(place)])
      case .request(let tellsTime):
        usesTime = usesTime || tellsTime
        stack.append(.success(request.request))
      case .resource:
        let resource = request.resource.value
        guard resource.depth <= deepest else { return .failure(.valueTooDeep(limit: deepest)) }
        stack.append(.success(resource))
      case .fail(let index): stack.append(.failure(program.failures[Int(index)]))
      case .call(let function):
        let callee = program.functions[Int(function)]
        frames.append(
          Frame(base: stack.count - callee.parameterCount, returnStep: next, callNode: step.node))
        next = Int(callee.start)
        continue
      case .exit:
        let result = pop()
        guard let frame = frames.popLast() else { return result }
        stack.removeSubrange(frame.base...)
        stack.append(result)
        next = frame.returnStep
        record(frame.callNode)
        continue
      case .stop: return pop()
      case .andLeft(let end):
        guard case .success(.bool(false)) = stack[stack.count - 1] else { continue }
        next = Int(end)
      case .orLeft(let end):
        guard case .success(.bool(true)) = stack[stack.count - 1] else { continue }
        next = Int(end)
      case .andRight: combine(unless: false)
      case .orRight: combine(unless: true)
      case .branch(let second, let end):
        switch pop() {
        case .success(.bool(true)): continue
        case .success(.bool(false)):
          next = Int(second)
          continue
        case .success(let value): stack.append(.failure(.wrongType(value.typeName, expected: "bool")))
        case .failure(let failure): stack.append(.failure(failure))
        }
        next = Int(end)
        continue
      case .jump(let target):
        next = Int(target)
        continue
      case .bound: continue
      case .joined: break
      default:
        let outcome = apply(step.instruction)
        if case .failure(let failure) = outcome, failure.isFinal { return outcome }
        stack.append(outcome)
      }
      if trace != nil { record(step.node) }
    }
  }

  private mutating func record(_ node: Int32) {
    guard node >= 0, let last = stack.last else { return }
    trace?.append(RuleTrace.Entry(node: node, callDepth: Int32(clamping: frames.count), outcome: last))
  }

  mutating func pop() -> Outcome { stack.popLast() ?? .failure(.noValue("the stack")) }

  /// Ends `&&` (with false) and `||` (with true), whose left side has not decided. Where one side fails, the other one may still decide.
  private mutating func combine(unless deciding: Bool) {
    let right = pop()
    let left = pop()
    if case .success(.bool(deciding)) = right {
      stack.append(right)
    } else if let failure = Self.failureOfCondition(left) ?? Self.failureOfCondition(right) {
      stack.append(.failure(failure))
    } else {
      stack.append(right)
    }
  }

  private static func failureOfCondition(_ outcome: Outcome) -> RuleFailure? {
    switch outcome {
    case .success(.bool): nil
    case .success(let value): .wrongType(value.typeName, expected: "bool")
    case .failure(let failure): failure
    }
  }

  // MARK: - Operators and functions

  /// The value of an operator or function, which fails if an operand does.
  private mutating func apply(_ instruction: Program.Instruction) -> Outcome {
    do throws(RuleFailure) {
      return .success(try value(of: instruction))
    } catch {
      return .failure(error)
    }
  }

  private mutating func value(of instruction: Program.Instruction) throws(RuleFailure) -> RuleValue {
    switch instruction {
    case .member(let name): return try Operators.member(program.names[Int(name)], of: try popValue())
    case .binary(let infix):
      let (left, right) = try popTwo()
      try spend(Operators.work(infix, left, right))
      return try bounded(try Operators.binary(infix, left, right))
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
    case .list(let count): return try bounded(.list(try decided(try popValues(Int(count)))))
    case .map(let count): return try bounded(try map(try decided(try popValues(2 * Int(count)))))
    case .path(let index): return try bounded(.path(try path(program.paths[Int(index)])))
    case .builtin(let builtin, let count): return try call(builtin, try popValues(Int(count)))
    case .method(let method, let pattern):
      let values = try popValues(method.argumentCount + 1)
      // A regular expression reads its text more slowly than others.
      let factor = method.hasPattern ? 4 : 1
      for value in values { try spend(min(value.weight, .max / factor) * factor) }
      if method == .toSet || values.contains(where: \.isSet) { try spend(RuleValue.workOfCollisions(in: values)) }
      let compiled = pattern >= 0 ? program.patterns[Int(pattern)] : nil
      if method.hasPattern, compiled == nil, values.count > 1, case .string(let text) = values[1] {
        try spend(Methods.workOfCompiling(text))
      }
      var methods = Methods(limits: limits)
      // Also those of a call that fails. The limit is looked at by the next one.
      defer { workDone = workDone.addingOrMax(methods.steps) }
      return try bounded(try methods.call(method, on: values, compiled))
    case .refuse(let failure, let count):
      _ = try popValues(Int(count))
      throw program.failures[Int(failure)]
    default: preconditionFailure("\(instruction) has no value of its own")
    }
  }

  private mutating func popValue() throws(RuleFailure) -> RuleValue { try pop().get() }

  private mutating func popTwo() throws(RuleFailure) -> (RuleValue, RuleValue) {
    let right = pop()
    let left = pop()
    return (try left.get(), try right.get())
  }

  /// Takes operands from the stack; fails with the first one that has failed.
  private mutating func popValues(_ count: Int) throws(RuleFailure) -> [RuleValue] {
    let first = max(0, stack.count - count)
    var values: [RuleValue] = []
    values.reserveCapacity(count)
    var failure: RuleFailure?
    for outcome in stack[first...] {
      switch outcome {
      case .success(let value): values.append(value)
      case .failure(let error): failure = failure ?? error
      }
    }
    stack.removeSubrange(first...)
    if let failure { throw failure }
    return values
  }

  private func map(_ items: [RuleValue]) throws(RuleFailure) -> RuleValue {
    var fields: [ExactText: RuleValue] = [:]
    for index in stride(from: 0, to: items.count, by: 2) {
      guard case .string(let key) = items[index] else { throw .wrongType(items[index].typeName, expected: "string") }
      fields[ExactText(key)] = items[index + 1]
    }
    return .map(RuleMap(fields))
  }

  /// The members of a list or a map. What a query leaves open cannot be one: comparisons within lists know no third answer.
  private func decided(_ values: [RuleValue]) throws(RuleFailure) -> [RuleValue] {
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
  mutating func spend(_ weight: Int) throws(RuleFailure) {
    workDone = workDone.addingOrMax(weight)
    guard workDone <= limits.resources.work else { throw .tooMuchWork(limit: limits.resources.work) }
  }

  func bounded(_ value: RuleValue) throws(RuleFailure) -> RuleValue {
    guard value.weight <= limits.resources.valueWeight else {
      throw .valueTooLarge(limit: limits.resources.valueWeight)
    }
    guard value.depth <= limits.resources.valueDepth else { throw .valueTooDeep(limit: limits.resources.valueDepth) }
    return value
  }
}
