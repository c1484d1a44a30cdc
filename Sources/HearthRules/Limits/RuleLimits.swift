/// The limits of rules and of their evaluation. The defaults are those of production.
package struct RuleLimits: Sendable, Hashable {
  // MARK: A source

  package var sourceBytes = 256 << 10
  package var compiledBytes = 250_000
  package var matchDepth = 10
  /// Variables of a match with all matches around it.
  package var pathVariables = 20
  /// Segments of a match with all matches around it.
  package var pathSegments = 100
  package var functionArguments = 7
  package var letBindings = 10
  package var callDepth = 20
  /// Operators, calls and parentheses within each other.
  package var expressionDepth = 99

  // MARK: A request

  package var expressions = 1000
  /// Different documents that `get`, `exists` and the like look up: 10 for one document and for queries, 20 for several documents.
  package var documents = 10

  package var resources = RuleResourceLimits()
  /// Issues that a report lists.
  package var issues = 100

  package init() {}
}

/// Bounds of the time and memory of one evaluation, whatever its limited number of expressions builds. Production documents none.
package struct RuleResourceLimits: Sendable, Hashable {
  /// Bytes and members of a value that rules build.
  package var valueWeight = 2 << 20
  /// Lists, sets and maps within each other, which are compared and released by functions that call themselves.
  package var valueDepth = 100
  /// Bytes and members that operators and functions read in one evaluation.
  package var work = 32 << 20
  /// Steps of a regular expression; four more for each byte of its text.
  package var patternSteps = 200_000
  /// Instructions of a regular expression.
  package var patternProgram = 10_000

  package init() {}
}
