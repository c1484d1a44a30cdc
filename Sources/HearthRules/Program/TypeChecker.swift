/// Looks in an expression for parts that fail or have one result whatever a request contains, because of types that the rules themselves show:
/// those of literals, of variables of a match, and of the results of operators, functions and methods.
///
/// Nothing is known of documents, of tokens, and of the parameters and results of functions of the file.
struct TypeChecker {
  /// A name that has a meaning in the expression.
  struct Names {
    /// The variables of the matches around, and the `let`s and parameters of the function.
    let variables: [String: Known]
    /// True if the file has a function of that name. It hides one of the language.
    let isFunction: (String) -> Bool
  }

  /// A finding, at the place of a node or within it.
  struct Finding {
    let message: String
    let range: SourceRange
  }

  /// The types that the value of a node can have.
  struct Known {
    var types = ValueTypes.any
    /// True for the result of `get` and `getAfter`.
    var isDocument = false

    static let unknown = Known()
  }

  let tree: SyntaxTree
  let source: SourceText
  private let names: Names
  /// For the nodes from the first one of the expression on. The parts of a node stand before it.
  private var known: [Known] = []
  private let first: Int
  private(set) var findings: [Finding] = []

  /// - Parameters:
  ///   - first: The first node of the expression.
  ///   - root: The node of the whole expression.
  init(_ tree: SyntaxTree, source: SourceText, first: Int, root: Int, _ names: Names) {
    self.tree = tree
    self.source = source
    self.names = names
    self.first = first
    for node in first...max(first, root) { known.append(value(of: node)) }
  }

  /// The types of the whole expression.
  var result: Known { known.last ?? .unknown }

  func known(_ node: Int) -> Known {
    known.indices.contains(node - first) ? known[node - first] : .unknown
  }

  func types(_ node: Int) -> ValueTypes { known(node).types }

  // MARK: - Nodes

  private mutating func value(of node: Int) -> Known {
    switch tree.nodes[node].kind {
    case .literal(let value): return Known(types: ValueTypes(value))
    case .variable(let name): return names.variables[name] ?? .unknown
    case .member(let base, let name): return member(name, of: base, node)
    case .index(let base, let index): return indexed(base, index, node)
    case .slice(let base, let from, let to): return slice(base, [from, to].compactMap(\.self))
    case .call(let name, let arguments):
      return Builtin(rawValue: name) == nil || names.isFunction(name) ? .unknown : call(name, arguments)
    case .method(let base, let name, let arguments):
      if case .variable(let space) = tree.nodes[base].kind, Builtin.namespaces.contains(space) {
        return call("\(space).\(name)", arguments)
      }
      return method(name, of: base, arguments, node)
    case .not(let part): return operand(part, of: "!", takes: .bool, gives: .bool)
    case .negated(let part):
      let taken: ValueTypes = [.int, .float, .duration]
      return operand(part, of: "-", takes: taken, gives: types(part).intersection(taken))
    case .binary(let infix, let left, let right): return binary(infix, left, right, node)
    case .typeTest: return Known(types: .bool)
    case .conditional(let condition, let first, let second):
      _ = operand(condition, of: "?", takes: .bool, gives: .bool)
      return Known(
        types: types(first).union(types(second)), isDocument: known(first).isDocument && known(second).isDocument)
    case .list: return Known(types: .list)
    case .map(let entries):
      for entry in entries { _ = operand(entry.key, of: "the key of a map", takes: .string, gives: .any) }
      return Known(types: .map)
    case .path(let parts):
      for case .expression(let part) in parts {
        _ = operand(part, of: "the segment of a path", takes: .convertible, gives: .any)
      }
      return Known(types: .path)
    }
  }

  /// - Returns: The types of the result; unknown if the operand is of another type.
  private mutating func operand(
    _ node: Int, of name: String, takes: ValueTypes, gives result: ValueTypes
  ) -> Known {
    guard !types(node).canBe(takes) else { return Known(types: result) }
    return find("\(name) takes \(takes.text()), and not \(types(node).text())", tree.nodes[node].range)
  }

  private mutating func find(_ message: String, _ range: SourceRange) -> Known {
    findings.append(Finding(message: message, range: range))
    return .unknown
  }

  // MARK: - Members

  private mutating func member(_ name: String, of base: Int, _ node: Int) -> Known {
    if known(base).isDocument {
      let list = KnownMembers.document
      guard list.contains(name) else {
        let text = list.dropLast().joined(separator: ", ") + " and " + (list.last ?? "")
        return find("a document has no member \(name.quotedBriefly), only \(text)", nameRange(behind: base, node))
      }
      return Known(types: name == "data" ? .map : name == "id" ? .string : .path)
    }
    guard types(base).canBe([.map, .path]) else {
      return find(
        "\(types(base).text()) has no member \(name.quotedBriefly)"
          + RuleFailure.sizeHint(name, of: types(base).text()),
        nameRange(behind: base, node))
    }
    // What is in a token has come as JSON.
    return isMemberOfAuth(node) ? Known(types: .any.subtracting(.path)) : .unknown
  }

  /// True for `request.auth.uid`.
  private func isMemberOfAuth(_ node: Int) -> Bool {
    guard case .member(let auth, _) = tree.nodes[node].kind, case .member(let request, "auth") = tree.nodes[auth].kind,
      case .variable("request") = tree.nodes[request].kind
    else { return false }
    return names.variables["request"] == nil
  }

  /// The place of the name behind the point that follows a value.
  func nameRange(behind base: Int, _ node: Int) -> SourceRange {
    tree.nameRange(behind: base, source) ?? tree.nodes[node].range
  }

  private mutating func indexed(_ base: Int, _ index: Int, _ node: Int) -> Known {
    let (value, place) = (types(base), types(index))
    let byNumber = value.intersection([.string, .list, .path])
    let byName = value.intersection([.map, .path])
    if place.canBe(.int) && !byNumber.isEmpty || place.canBe(.string) && !byName.isEmpty {
      return Known(types: value == .string ? .string : .any)
    }
    return find("[] of a value of type \(value.text()) does not take \(place.text())", tree.nodes[node].range)
  }

  private mutating func slice(_ base: Int, _ bounds: [Int]) -> Known {
    let taken: ValueTypes = [.string, .list, .path]
    for bound in bounds { _ = operand(bound, of: "[:]", takes: [.int, .null], gives: .any) }
    return operand(base, of: "[:]", takes: taken, gives: types(base).intersection(taken))
  }

  // MARK: - Functions

  private mutating func call(_ name: String, _ arguments: [Int]) -> Known {
    guard let builtin = Builtin(rawValue: name), builtin.takes(arguments.count) else { return .unknown }
    let count = findings.count
    for (place, argument) in arguments.enumerated() {
      _ = operand(argument, of: "function '\(name)'", takes: builtin.parameter(place), gives: .any)
    }
    if builtin.looksUpDocument, let argument = arguments.first, let message = pathMistake(argument) {
      _ = find(message, tree.nodes[argument].range)
    }
    guard findings.count == count else { return .unknown }
    return Known(types: builtin.result(of: arguments.first.map(types) ?? .any), isDocument: builtin.givesDocument)
  }

  private mutating func method(_ name: String, of base: Int, _ arguments: [Int], _ node: Int) -> Known {
    guard let method = Method(rawValue: name), method.argumentCount == arguments.count else { return .unknown }
    let receiver = types(base)
    guard receiver.canBe(method.receivers) else {
      return find(
        "\(receiver.text()) has no function '\(name)', only \(method.receivers.text("and"))",
        nameRange(behind: base, node))
    }
    let count = findings.count
    for (place, argument) in arguments.enumerated() {
      let taken = method.parameter(place, of: receiver.intersection(method.receivers))
      _ = operand(argument, of: "function '\(name)'", takes: taken, gives: .any)
    }
    return findings.count == count ? Known(types: method.result) : .unknown
  }

  // MARK: - Operators

  private mutating func binary(_ infix: BinaryOperator, _ left: Int, _ right: Int, _ node: Int) -> Known {
    let (first, second) = (types(left), types(right))
    switch infix {
    case .and, .or:
      for side in [left, right] { _ = operand(side, of: infix.rawValue, takes: .bool, gives: .bool) }
      return Known(types: .bool)
    case .equal, .notEqual:
      if !first.canEqual(second) {
        _ = find(
          "\(first.text()) and \(second.text()) are never equal: \(infix.rawValue) is always \(infix == .notEqual)",
          tree.nodes[node].range)
      }
      return Known(types: .bool)
    case .in: return operand(right, of: "in", takes: [.list, .set, .map], gives: .bool)
    case .less, .lessOrEqual, .greater, .greaterOrEqual:
      guard !first.canCompare(second) else { return Known(types: .bool) }
    default:
      let result = first.combined(with: second, by: infix)
      guard result.isEmpty else { return Known(types: result) }
    }
    return find("\(infix.rawValue) does not take \(first.text()) and \(second.text())", tree.nodes[node].range)
  }
}
