/// The fields of a document, which are read or decoded when they are needed for the first time.
struct DeferredFields {
  private final class Making {
    private let make: () -> RuleMap?
    private var made: RuleMap??

    init(_ make: @escaping () -> RuleMap?) {
      self.make = make
    }

    var fields: RuleMap? {
      if let made { return made }
      let fields = make()
      made = .some(fields)
      return fields
    }
  }

  private enum Form {
    case known(RuleMap?)
    case deferred(Making)
  }

  private let form: Form

  init(_ fields: RuleMap?) { form = .known(fields) }

  init(_ make: @escaping () -> RuleMap?) { form = .deferred(Making(make)) }

  /// Nil if there is no document.
  var fields: RuleMap? {
    switch form {
    case .known(let fields): fields
    case .deferred(let making): making.fields
    }
  }

  /// The levels of fields that are known without being made; 0 for others.
  var knownDepth: Int {
    if case .known(let fields?) = form { fields.depth } else { 0 }
  }
}
