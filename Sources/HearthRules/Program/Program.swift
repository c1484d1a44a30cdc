internal import HearthRE2

/// Compiled rules: steps for a machine with a stack, so that no evaluation recurses.
struct Program: Sendable {
  struct Step: Sendable {
    let instruction: Instruction
    /// The node of the syntax tree whose value it completes; negative for a value that no node has.
    let node: Int32
    /// The expressions that it counts for, as in production.
    let cost: UInt16
  }

  enum Instruction: Sendable {
    case constant(Int32)
    /// An argument or binding, by its place in the frame.
    case local(Int32)
    /// A variable of the matches around, from the outermost on.
    case capture(Int32)
    /// - Parameter tellsTime: False if another member than the time is taken of it.
    case request(tellsTime: Bool)
    case resource
    case fail(Int32)
    case member(Int32)
    case index
    case slice
    case call(function: Int32)
    /// Ends a function; its result replaces its frame.
    case exit
    /// Ends a condition.
    case stop
    case builtin(Builtin, count: Int32)
    case method(Method, pattern: Int32)
    /// Takes operands from the stack, and fails.
    case refuse(failure: Int32, count: Int32)
    case not
    case negate
    case binary(BinaryOperator)
    case typeTest(TypeName)
    /// Ends `&&` if its left side is false.
    case andLeft(end: Int32)
    case andRight
    case orLeft(end: Int32)
    case orRight
    case branch(second: Int32, end: Int32)
    case jump(Int32)
    /// The value of a conditional is complete.
    case joined
    case list(Int32)
    case map(Int32)
    case path(Int32)
    /// Counts for what has no step of its own.
    case bound
  }

  /// A segment of a path literal.
  enum PathPart: Sendable {
    case segment(RulePath.Segment)
    case expression
  }

  struct Function: Sendable {
    let parameterCount: Int
    var start: Int32
  }

  /// A segment of a match.
  enum PatternPart: Sendable, Hashable {
    case text(String)
    case variable
    case recursive
  }

  /// An `allow` with the path to it.
  struct Permission: Sendable {
    /// The segments of the match with those around it.
    let pattern: [PatternPart]
    /// The place of the recursive wildcard; nil if there is none.
    let recursive: Int?
    /// Nil if it holds always.
    let start: Int32?
    let range: SourceRange
    let title: String

    init(pattern: [PatternPart], start: Int32?, range: SourceRange, title: String) {
      self.pattern = pattern
      recursive = pattern.firstIndex(of: .recursive)
      self.start = start
      self.range = range
      self.title = title
    }
  }

  /// An expression of the file, as reports show it.
  struct Expression: Sendable {
    let range: SourceRange
    /// The place in ``Program/expressions`` of the one that it is a part of; nil for a condition, and for a value of a function.
    var whole: Int32?
    /// False for literals, and for names such as `math`, whose values tell nothing.
    let isReported: Bool
    /// True for a part whose value seldom tells more than that of the whole: `request.auth` in `request.auth.uid`, a variable in a
    /// comparison.
    var isMinor = false
  }

  /// A condition, or the values of a function, by their places in ``Program/expressions``.
  struct Declaration: Sendable {
    struct Binding: Sendable {
      let value: Int32
      /// The word `let`.
      let start: SourceRange
    }

    let bindings: [Binding]
    let result: Int32
  }

  var version = 1
  var steps: [Step] = []
  var constants: [RuleValue] = []
  var names: [String] = []
  var failures: [RuleFailure] = []
  var paths: [[PathPart]] = []
  var patterns: [RegularExpression] = []
  var functions: [Function] = []
  /// The permissions for each method, in the order of the file.
  var permissions: [RuleMethod: [Permission]] = [:]
  /// The nodes of the syntax tree.
  var expressions: [Expression] = []
  /// The conditions and functions, in the order in which it is compiled.
  var declarations: [Declaration] = []

  /// The memory that the program takes, roughly.
  var byteCount: Int {
    steps.count * MemoryLayout<Step>.stride + constants.reduce(0) { $0.addingOrMax($1.weight) }
      + names.reduce(0) { $0 + $1.utf8.count } + patterns.reduce(0) { $0 + $1.programSize }
  }
}

/// The access to a document that a request wants.
package enum RuleMethod: String, Sendable, CaseIterable {
  case get, list, create, update, delete

  /// The methods that a word of `allow` stands for; nil if there is no such word.
  static func named(_ word: String) -> Set<RuleMethod>? {
    switch word {
    case "read": [.get, .list]
    case "write": [.create, .update, .delete]
    default: RuleMethod(rawValue: word).map { [$0] }
    }
  }
}
