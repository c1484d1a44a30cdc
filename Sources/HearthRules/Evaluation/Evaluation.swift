/// The evaluation of all permissions for one request.
struct Evaluation: ~Copyable {
  private var machine: Machine
  private(set) var decision = RuleDecision()

  init(_ machine: consuming Machine) {
    if machine.isTraced { decision.trace = RuleTrace() }
    self.machine = machine
  }

  /// Evaluates permissions in the order of the file until one holds.
  ///
  /// A permission that needs a document that was not read does not end the evaluation: another one may hold without it.
  mutating func run(_ target: Program.Permission.Target) {
    decision.answer = firstAnswer(target)
    if decision.answer == .denied, !machine.unread.isEmpty { decision.answer = .needsDocuments(machine.unread) }
    decision.documents = machine.documents
    decision.usesTime = machine.usesTime
    decision.expressionCount = machine.expressionCount
    decision.workDone = machine.workDone
  }

  private mutating func firstAnswer(_ target: Program.Permission.Target) -> RuleDecision.Answer {
    let rules = machine.rules
    let permissions = rules.program.permissions[machine.request.method]
    for index in permissions.indices {
      let permission = permissions[index]
      guard let captures = permission.captures(of: target, version: rules.program.version) else { continue }
      let outcome = outcome(of: permission, captures)
      if case .success(.bool(true)) = outcome { return .allowed }
      let failure = Self.failure(of: outcome)
      if decision.refusals.count < RuleDecision.largestRefusalCount {
        let line = rules.source.position(of: Int(permission.range.start)).line
        decision.refusals.append(RuleDecision.Refusal(rule: permission.title, line: line, failure: failure))
      }
      if let failure, failure.isFinal { return .denied }
    }
    return .denied
  }

  private mutating func outcome(of permission: Program.Permission, _ captures: [Machine.Outcome]) -> Machine.Outcome {
    machine.captures = captures
    machine.trace.removeAll(keepingCapacity: true)
    let outcome =
      if let start = permission.start { machine.run(from: start) } else { Machine.Outcome.success(.bool(true)) }
    if machine.isTraced {
      decision.trace?.rules.append(
        RuleTrace.Rule(title: permission.title, range: permission.range, outcome: outcome, entries: machine.trace))
    }
    return outcome
  }

  private static func failure(of outcome: Machine.Outcome) -> RuleFailure? {
    switch outcome {
    case .success(.bool): nil
    case .success(let value): .wrongType(value.typeName, expected: "bool")
    case .failure(let failure): failure
    }
  }
}
