/// The reason why an expression has no value.
///
/// A rule whose condition fails does not hold. `||` and `&&` have a value despite a failure if the other side decides.
///
/// It is one reference, since a place on the stack of the machine is as large as the larger one of a value and a failure.
package indirect enum RuleFailure: Error, Hashable, Sendable {
  case divisionByZero
  case integerOverflow
  /// An operator or function does not take values of these types.
  case unsupported(String, types: [String])
  case wrongType(String, expected: String)
  case missingProperty(String)
  /// A variable without a value.
  case noValue(String)
  /// A member of a value whose type has none.
  case noMembers(String, type: String)
  /// A member, a function or an index of `null`.
  case memberOfNull(String)
  case outOfBounds(Int64, count: Int)
  case badRange(from: Int64, to: Int64)
  case unknownFunction(String)
  case wrongArgumentCount(String, count: Int)
  case conversion(String, to: String)
  case badPattern(String)
  /// A value that its type does not allow, such as a latitude of 91.
  case invalid(String)
  /// `get`, `exists` and the like with a path that is not that of a document of this database.
  case badDocumentPath(String)
  case missingDocument(String)
  case tooManyDocuments(limit: Int)
  /// The evaluation needs a document that its caller has not looked up yet.
  case documentNeeded
  /// The filters of a query leave the value open.
  case undecided(String)
  case tooManyExpressions(limit: Int)
  case tooMuchWork(limit: Int)
  case valueTooLarge(limit: Int)
  case valueTooDeep(limit: Int)

  /// True if no operator has a value any more, as a limit of the whole request was reached.
  package var isFinal: Bool {
    switch self {
    case .tooManyExpressions, .tooMuchWork, .valueTooLarge, .valueTooDeep: true
    default: false
    }
  }
}

extension RuleFailure: CustomStringConvertible {
  package var description: String {
    switch self {
    case .divisionByZero: "an integer is divided by zero"
    case .integerOverflow: "the result does not fit into an integer of 64 bits"
    case .unsupported(let name, let types):
      "\(name) does not take \(types.isEmpty ? "no value" : types.joined(separator: ", "))"
    case .wrongType(let type, let expected): "a value is of type \(type), and not \(expected)"
    case .missingProperty(let name): "there is no property \(name.quotedBriefly)"
    case .noValue(let name): "\(name) has no value"
    case .noMembers(let name, let type):
      "a value of type \(type) has no member \(name.quotedBriefly)" + Self.sizeHint(name, of: type)
    case .memberOfNull(let name): "null has no \(name)"
    case .outOfBounds(let index, let count): "index \(index) is out of bounds: there are \(count) elements"
    case .badRange(let start, let end): "the range from \(start) to \(end) is reversed"
    case .unknownFunction(let name): "there is no function \(name.quotedBriefly)"
    case .wrongArgumentCount(let name, let count): "\(name) is called with a wrong number of arguments (\(count))"
    case .conversion(let text, let type): "\(text.quotedBriefly) cannot be converted to \(type)"
    case .badPattern(let message): message
    case .invalid(let message): "invalid \(message)"
    case .badDocumentPath(let path):
      "\(path.quotedBriefly) is not the path of a document of this database (/databases/{database}/documents/{collection}/{id})"
    case .missingDocument(let path): "there is no document \(path.quotedBriefly)"
    case .tooManyDocuments(let limit): "more than \(limit) documents are looked up"
    case .documentNeeded: "a document has to be looked up first"
    case .undecided(let what): "the query's filters do not decide \(what)"
    case .tooManyExpressions(let limit): "more than \(limit) expressions are evaluated"
    case .tooMuchWork(let limit): "the evaluation takes more than \(limit) units of work"
    case .valueTooDeep(let limit): "a value has more than \(limit) levels of lists and maps"
    case .valueTooLarge(let limit): "a value has more than \(limit) bytes and members"
    }
  }
}

extension RuleFailure {
  /// Such as `; its length is size()`, for a member that other languages have.
  static func sizeHint(_ name: String, of type: String) -> String {
    guard ["length", "size", "count"].contains(name), ["string", "bytes", "list", "set"].contains(type) else {
      return ""
    }
    return "; its length is size()"
  }
}

extension String {
  /// The text in quotes, shortened, for messages.
  var quotedBriefly: String {
    let limit = 64
    return unicodeScalars.count <= limit
      ? "'\(self)'" : "'\(String(String.UnicodeScalarView(unicodeScalars.prefix(limit))))…'"
  }
}
