/// The evaluation of all permissions for one request.
struct Evaluation {
  private let source: SourceText
  private var machine: Machine
  private(set) var decision = RuleDecision()

  init(_ source: SourceText, machine: Machine) {
    self.source = source
    self.machine = machine
  }

  /// Evaluates permissions in the order of the file until one holds.
  ///
  /// A permission that needs a document that was not read does not end the evaluation: another one may hold without it.
  mutating func run(_ target: Program.Permission.Target) {
    decision.answer = firstAnswer(target)
    if decision.answer == .denied, !machine.unread.isEmpty { decision.answer = .needsDocuments(machine.unread) }
    decision.documents = machine.documents
    decision.expressionCount = machine.expressionCount
    decision.trace = machine.trace.map { entries in
      RuleTrace(
        entries: entries.map { RuleTrace.Entry(range: machine.program.ranges[Int($0.node)], value: $0.outcome) })
    }
  }

  private mutating func firstAnswer(_ target: Program.Permission.Target) -> RuleDecision.Answer {
    for permission in machine.program.permissions where permission.methods.contains(machine.request.method) {
      guard let captures = permission.captures(of: target, version: machine.program.version) else { continue }
      guard let start = permission.start else { return .allowed }
      machine.captures = captures
      let outcome = machine.run(from: start)
      if case .success(.bool(true)) = outcome { return .allowed }
      let failure = Self.failure(of: outcome)
      if decision.refusals.count < RuleDecision.largestRefusalCount {
        let line = source.position(of: Int(permission.range.start)).line
        decision.refusals.append(RuleDecision.Refusal(rule: permission.title, line: line, failure: failure))
      }
      if let failure, failure.isFinal { return .denied }
    }
    return .denied
  }

  private static func failure(of outcome: Machine.Outcome) -> RuleFailure? {
    switch outcome {
    case .success(.bool): nil
    case .success(let value): .wrongType(value.typeName, expected: "bool")
    case .failure(let failure): failure
    }
  }
}
