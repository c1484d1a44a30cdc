/// A rules file as it was read. Parts refer to each other by their places in arrays, so that nothing that walks over it recurses.
struct SyntaxTree {
  typealias NodeID = Int

  /// A part of an expression. Its parts stand before it.
  struct Node {
    let kind: Kind
    /// With the parentheses around it.
    var range: SourceRange
    /// Operators, calls and parentheses within each other. A chain of members and indexes counts once.
    var depth: Int
  }

  enum Kind {
    case literal(RuleValue)
    case variable(String)
    case member(NodeID, String)
    case index(NodeID, NodeID)
    case slice(NodeID, from: NodeID?, to: NodeID?)
    case call(String, [NodeID])
    case method(NodeID, String, [NodeID])
    case not(NodeID)
    case negated(NodeID)
    case binary(BinaryOperator, NodeID, NodeID)
    case typeTest(NodeID, TypeName)
    case conditional(NodeID, NodeID, NodeID)
    case list([NodeID])
    case map([MapEntry])
    case path([PathPart])
  }

  struct MapEntry {
    let key: NodeID
    let value: NodeID
  }

  enum PathPart {
    case text(String)
    case expression(NodeID)
    case variable(String)
    case recursive(String)

    /// The name of the variable; nil for text and expressions.
    var variable: String? {
      switch self {
      case .text, .expression: nil
      case .variable(let name), .recursive(let name): name
      }
    }
  }

  /// A name with its place.
  struct Name {
    let text: String
    let range: SourceRange
  }

  /// The file, a service or a match, in which functions are declared.
  struct Block {
    enum Kind {
      case file
      case service(String)
      case match([PathPart])
    }

    let kind: Kind
    let parent: Int?
    let range: SourceRange
    /// The variables of a match.
    var variables: [Name] = []
    var functions: [Int] = []
    /// The number of declarations in it.
    var count = 0
  }

  /// A `let`.
  struct Binding {
    let name: Name
    let value: NodeID
    /// The word `let`.
    let start: SourceRange
  }

  struct Function {
    let name: Name
    let block: Int
    let parameters: [Name]
    let bindings: [Binding]
    let result: NodeID
  }

  /// An `allow`.
  struct Permission {
    let methods: [Name]
    let block: Int
    /// Nil if it holds always.
    let condition: NodeID?
    let range: SourceRange
  }

  var version = 1
  var nodes: [Node] = []
  var blocks: [Block] = []
  var functions: [Function] = []
  var permissions: [Permission] = []

  /// The name of a block in messages.
  func title(of block: Int, in source: SourceText) -> String? {
    switch blocks[block].kind {
    case .file: nil
    case .service(let name): "service \(name)"
    case .match: source.text(of: blocks[block].range)
    }
  }
}

extension SyntaxTree {
  /// True for an `allow` whose path continues that of a match with segments behind a recursive wildcard.
  ///
  /// It allows nothing. Google's emulator does not look for the segments of the outer match where they stand, but as if the path ended there.
  func isBehindSuffix(_ permission: Permission) -> Bool {
    let parts = chain(from: permission.block).map { blocks[$0].pathParts }.filter { !$0.isEmpty }
    return parts.dropLast().contains { parts in
      parts.dropLast().contains { part in
        if case .recursive = part { true } else { false }
      }
    }
  }
}

extension SyntaxTree.Kind {
  /// The expressions that it consists of, in the order of the file.
  var parts: [SyntaxTree.NodeID] {
    switch self {
    case .literal, .variable: []
    case .member(let part, _), .not(let part), .negated(let part), .typeTest(let part, _): [part]
    case .index(let base, let index): [base, index]
    case .slice(let base, let from, let to): [base] + [from, to].compactMap(\.self)
    case .call(_, let arguments): arguments
    case .method(let base, _, let arguments): [base] + arguments
    case .binary(_, let left, let right): [left, right]
    case .conditional(let condition, let first, let second): [condition, first, second]
    case .list(let items): items
    case .map(let entries): entries.flatMap { [$0.key, $0.value] }
    case .path(let parts):
      parts.compactMap { part in
        if case .expression(let node) = part { node } else { nil }
      }
    }
  }
}

enum BinaryOperator: String, Sendable {
  case or = "||"
  case and = "&&"
  case `in` = "in"
  case equal = "=="
  case notEqual = "!="
  case less = "<"
  case lessOrEqual = "<="
  case greater = ">"
  case greaterOrEqual = ">="
  case plus = "+"
  case minus = "-"
  case times = "*"
  case divided = "/"
  case remainder = "%"

  /// The precedence of `is`.
  static let typeTestPrecedence = 4

  /// A larger number binds tighter.
  var precedence: Int {
    switch self {
    case .or: 1
    case .and: 2
    case .in: 3
    case .equal, .notEqual: 5
    case .less, .lessOrEqual, .greater, .greaterOrEqual: 6
    case .plus, .minus: 7
    case .times, .divided, .remainder: 8
    }
  }
}
