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

    // The first step of several whose value can be had at once. If it cannot, or if values are traced, this step is carried out as the one
    // that is named first here, and the others follow.

    /// `request`, and a member of it.
    case requestMember(RequestMember)
    /// `resource`, and a member of it.
    case resourceMember(DocumentMember)
    /// An argument or binding, and a member of it.
    case localMember(Int32, name: Int32)
    /// A constant that begins a list of constants, and the list.
    case constantList(first: Int32, list: Int32)
  }

  /// The members of `request` for one document.
  enum RequestMember: String, Sendable {
    case method, path, auth, time, resource, inTransaction
    /// `request.resource.data`.
    case dataOfResource

    /// The steps for it, behind that for `request`.
    var furtherSteps: Int { self == .dataOfResource ? 2 : 1 }
  }

  /// The members of a document.
  enum DocumentMember: String, Sendable {
    case data, id
    case name = "__name__"
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

  /// An `allow` with the path to it. All methods that it names have the same one.
  final class Permission: Sendable {
    /// The segments of the match with those around it.
    let pattern: [PatternPart]
    /// The places of texts in the pattern. The last ones, such as the collection, tell most matches apart.
    let texts: [(place: Int, text: String)]
    /// The place of the recursive wildcard; nil if there is none.
    let recursive: Int?
    /// Nil if it holds always.
    let start: Int32?
    let range: SourceRange
    let title: String

    init(pattern: [PatternPart], start: Int32?, range: SourceRange, title: String) {
      self.pattern = pattern
      texts = pattern.enumerated().reversed().compactMap { place, part in
        if case .text(let text) = part { (place, text) } else { nil }
      }
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
  /// The lists of constants.
  var constantLists: [RuleList] = []
  var names: [ExactText] = []
  var failures: [RuleFailure] = []
  var paths: [[PathPart]] = []
  var patterns: [RegularExpression] = []
  var functions: [Function] = []
  /// The permissions for each method, in the order of the file.
  var permissions = PermissionTable()
  /// The nodes of the syntax tree.
  var expressions: [Expression] = []
  /// The conditions and functions, in the order in which it is compiled.
  var declarations: [Declaration] = []

  /// The memory that the program takes, roughly. Lists of constants are not counted again.
  var byteCount: Int {
    steps.count * MemoryLayout<Step>.stride + constants.reduce(0) { $0.addingOrMax($1.weight) }
      + names.reduce(0) { $0 + $1.text.utf8.count } + patterns.reduce(0) { $0 + $1.programSize }
  }
}

extension Program {
  /// The permissions for each method, in the order of the file.
  struct PermissionTable: Sendable {
    private var lists: [[Permission]] = Array(repeating: [], count: RuleMethod.allCases.count)

    subscript(method: RuleMethod) -> [Permission] {
      get { lists[method.place] }
      _modify { yield &lists[method.place] }
    }
  }
}

/// The access to a document that a request wants.
package enum RuleMethod: String, Sendable, CaseIterable {
  case get, list, create, update, delete

  /// The place in a list of all methods.
  fileprivate var place: Int {
    switch self {
    case .get: 0
    case .list: 1
    case .create: 2
    case .update: 3
    case .delete: 4
    }
  }

  /// The methods that a word of `allow` stands for; nil if there is no such word.
  static func named(_ word: String) -> Set<RuleMethod>? {
    switch word {
    case "read": [.get, .list]
    case "write": [.create, .update, .delete]
    default: RuleMethod(rawValue: word).map { [$0] }
    }
  }
}
