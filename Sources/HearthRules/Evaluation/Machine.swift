/// Carries out the steps of one condition after the other, for one request.
///
/// It is never copied: that would count more than ten references.
struct Machine: ~Copyable {
  typealias Outcome = Result<RuleValue, RuleFailure>

  /// A call of a function that has not ended.
  struct Frame {
    /// The place of the first argument on the stack.
    let base: Int
    let returnStep: Int
    let callNode: Int32
  }

  let rules: CompiledRules
  let request: RuleRequest
  /// The variables `request` and `resource`, made when they are needed as a whole.
  private var requestValue: RuleValue?
  private var resourceValue: RuleValue?
  let lookUp: (LookedUpDocument) -> DocumentLookup
  /// True if the values of nodes are kept.
  let isTraced: Bool
  /// The variables of the matches, for the present condition.
  var captures: [Outcome] = []
  private var stack: [Outcome] = []
  private var frames: [Frame] = []
  /// The place on the stack of the first argument of the present function.
  private var base = 0
  private(set) var expressionCount = 0
  /// The work of this request, and of those that share its bound.
  var workDone = 0
  /// True if a condition has seen the time of the request.
  private(set) var usesTime = false
  /// Documents that were looked up, in the order in which they were first needed.
  var documents: [LookedUpDocument] = []
  /// Documents of these that were not read.
  var unread: [LookedUpDocument] = []
  /// The values of nodes in the order in which they are complete, if they are kept.
  var trace: [RuleTrace.Entry] = []

  init(
    _ rules: CompiledRules, request: RuleRequest, isTraced: Bool,
    lookUp: @escaping (LookedUpDocument) -> DocumentLookup
  ) {
    self.rules = rules
    self.request = request
    self.isTraced = isTraced
    self.lookUp = lookUp
    stack.reserveCapacity(32)
  }

  /// Evaluates the condition that begins with a step.
  mutating func run(from start: Int32) -> Outcome {
    stack.removeAll(keepingCapacity: true)
    frames.removeAll(keepingCapacity: true)
    base = 0
    let deepest = rules.limits.resources.valueDepth
    // A token can nest as deep as its issuer likes.
    guard request.depth <= deepest else { return .failure(.valueTooDeep(limit: deepest)) }
    let steps = rules.program.steps
    let mostExpressions = rules.limits.expressions
    var next = Int(start)
    while true {
      let step = steps[next]
      next += 1
      expressionCount += Int(step.cost)
      guard expressionCount <= mostExpressions else { return .failure(.tooManyExpressions(limit: mostExpressions)) }
      switch step.instruction {
      case .call(let function):
        next = enter(rules.program.functions[Int(function)], from: next, step.node)
        continue
      case .exit:
        guard let frame = frames.popLast() else { return pop() }
        leave(frame)
        next = frame.returnStep
        continue
      case .stop: return pop()
      case .andLeft(let end):
        guard isLast(false) else { continue }
        next = Int(end)
      case .orLeft(let end):
        guard isLast(true) else { continue }
        next = Int(end)
      case .branch(let second, let end):
        next = branch(first: next, second: Int(second), end: Int(end))
        continue
      case .jump(let target):
        next = Int(target)
        continue
      case .bound: continue
      case .joined: break
      case .requestMember, .resourceMember, .localMember, .constantList:
        let count = isTraced ? 0 : pushAtOnce(step.instruction)
        next += count
        if count == 0, let failure = push(step.instruction) { return .failure(failure) }
      default:
        if let failure = push(step.instruction) { return .failure(failure) }
      }
      if isTraced { record(step.node) }
    }
  }

  private mutating func record(_ node: Int32) {
    guard node >= 0, let last = stack.last else { return }
    trace.append(RuleTrace.Entry(node: node, callDepth: Int32(clamping: frames.count), outcome: last))
  }

  // MARK: - The stack

  mutating func pop() -> Outcome { stack.popLast() ?? .failure(.noValue("the stack")) }

  /// Returns whether the last value is a certain one.
  private func isLast(_ flag: Bool) -> Bool {
    if case .success(.bool(flag)) = stack[stack.count - 1] { true } else { false }
  }

  /// Takes operands from the stack; fails with the first one that has failed.
  mutating func popValues(_ count: Int) throws(RuleFailure) -> [RuleValue] {
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

  // MARK: - Calls and conditions

  /// - Returns: The first step of the function.
  private mutating func enter(_ callee: Program.Function, from returnStep: Int, _ node: Int32) -> Int {
    base = stack.count - callee.parameterCount
    frames.append(Frame(base: base, returnStep: returnStep, callNode: node))
    return Int(callee.start)
  }

  /// Replaces the arguments and bindings of a function by its result.
  private mutating func leave(_ frame: Frame) {
    let result = pop()
    if stack.count > frame.base { stack.removeLast(stack.count - frame.base) }
    stack.append(result)
    base = frames.last?.base ?? 0
    if isTraced { record(frame.callNode) }
  }

  /// - Returns: The next step.
  private mutating func branch(first: Int, second: Int, end: Int) -> Int {
    switch pop() {
    case .success(.bool(true)): return first
    case .success(.bool(false)): return second
    case .success(let value): stack.append(.failure(.wrongType(value.typeName, expected: "bool")))
    case .failure(let failure): stack.append(.failure(failure))
    }
    return end
  }

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

  // MARK: - Values

  /// Pushes the value of one step.
  ///
  /// - Returns: The failure that ends the evaluation, if there is one.
  private mutating func push(_ instruction: Program.Instruction) -> RuleFailure? {
    switch instruction {
    case .constant(let index), .constantList(let index, _):
      stack.append(.success(rules.program.constants[Int(index)]))
    case .local(let place), .localMember(let place, _): stack.append(stack[base + Int(place)])
    case .capture(let place): stack.append(captures[Int(place)])
    case .request(let tellsTime): return pushRequest(tellsTime: tellsTime)
    case .requestMember(let member): return pushRequest(tellsTime: member == .time)
    case .resource, .resourceMember:
      let resource = resourceValue ?? request.resource
      resourceValue = resource
      let deepest = rules.limits.resources.valueDepth
      guard resource.depth <= deepest else { return .valueTooDeep(limit: deepest) }
      stack.append(.success(resource))
    case .fail(let index): stack.append(.failure(rules.program.failures[Int(index)]))
    case .andRight: combine(unless: false)
    case .orRight: combine(unless: true)
    case .member(let name): stack.append(Self.member(rules.program.names[Int(name)], of: pop()))
    default:
      do throws(RuleFailure) {
        stack.append(.success(try value(of: instruction)))
      } catch {
        if error.isFinal { return error }
        stack.append(.failure(error))
      }
    }
    return nil
  }

  private mutating func pushRequest(tellsTime: Bool) -> RuleFailure? {
    usesTime = usesTime || tellsTime
    let value = requestValue ?? request.value
    requestValue = value
    let deepest = rules.limits.resources.valueDepth
    guard value.depth <= deepest else { return .valueTooDeep(limit: deepest) }
    stack.append(.success(value))
    return nil
  }

  private static func member(_ name: ExactText, of base: Outcome) -> Outcome {
    guard case .success(let value) = base else { return base }
    do throws(RuleFailure) {
      return .success(try Operators.member(name, of: value))
    } catch {
      return .failure(error)
    }
  }

  /// Pushes the value of several steps. The first one is counted already.
  ///
  /// - Returns: The number of further steps; 0 if they have to be carried out one by one, as those that fail or reach a limit.
  private mutating func pushAtOnce(_ instruction: Program.Instruction) -> Int {
    let furtherSteps: Int
    let value: RuleValue
    switch instruction {
    case .requestMember(let member):
      guard let known = request.member(member, deepest: rules.limits.resources.valueDepth) else { return 0 }
      (value, furtherSteps) = (known, member.furtherSteps)
    case .resourceMember(let member):
      guard let known = request.resourceMember(member, deepest: rules.limits.resources.valueDepth) else { return 0 }
      (value, furtherSteps) = (known, 1)
    case .localMember(let place, let name):
      guard case .success(.map(let map)) = stack[base + Int(place)], let known = map[rules.program.names[Int(name)]]
      else { return 0 }
      (value, furtherSteps) = (known, 1)
    case .constantList(_, let index):
      let list = rules.program.constantLists[Int(index)]
      guard (try? bounded(.list(list))) != nil else { return 0 }
      (value, furtherSteps) = (.list(list), list.items.count)
    default: return 0
    }
    // Each of them costs one expression.
    guard expressionCount + furtherSteps <= rules.limits.expressions else { return 0 }
    expressionCount += furtherSteps
    if case .requestMember(.time) = instruction { usesTime = true }
    stack.append(.success(value))
    return furtherSteps
  }
}
