extension Compiler {
  /// Marks where several steps together have a value that needs none of those between, and where `request` is used for a member other than
  /// its time.
  ///
  /// The step of a member, or of a list, follows those of its operands, and the last of these completes the last operand. So a step before it
  /// that is a variable, a member or a constant belongs to the operand alone, and no jump leads between them.
  mutating func combineSteps() {
    for place in program.steps.indices {
      let step = program.steps[place]
      guard let combined = combined(step.instruction, at: place) else { continue }
      program.steps[place] = Program.Step(instruction: combined, node: step.node, cost: step.cost)
    }
  }

  private func member(at place: Int) -> Int32? {
    guard place < program.steps.count, case .member(let name) = program.steps[place].instruction else { return nil }
    return name
  }

  private mutating func combined(_ instruction: Program.Instruction, at place: Int) -> Program.Instruction? {
    switch instruction {
    case .request:
      guard let name = member(at: place + 1).map({ program.names[Int($0)].text }) else { return nil }
      guard let member = Program.RequestMember(rawValue: name), member != .dataOfResource else {
        return .request(tellsTime: false)
      }
      let next = self.member(at: place + 2).map { program.names[Int($0)].text }
      return .requestMember(member == .resource && next == "data" ? .dataOfResource : member)
    case .resource:
      return member(at: place + 1).flatMap { Program.DocumentMember(rawValue: program.names[Int($0)].text) }
        .map { .resourceMember($0) }
    case .local(let local): return member(at: place + 1).map { .localMember(local, name: $0) }
    case .constant(let first): return constantList(from: place).map { .constantList(first: first, list: $0) }
    default: return nil
    }
  }

  /// Makes the list that begins with a step and has constants only.
  ///
  /// - Returns: Its place; nil if there is no such list. Long ones have an index, which evaluations may not share: its existence counts as less
  ///   work.
  private mutating func constantList(from start: Int) -> Int32? {
    var constants: [RuleValue] = []
    var place = start
    while place < program.steps.count, case .constant(let constant) = program.steps[place].instruction {
      guard constants.count < RuleList.shortestWithIndex - 1 else { return nil }
      constants.append(program.constants[Int(constant)])
      place += 1
    }
    guard place < program.steps.count, case .list(let count) = program.steps[place].instruction,
      count == constants.count
    else { return nil }
    program.constantLists.append(RuleList(constants))
    return Int32(clamping: program.constantLists.count - 1)
  }
}
