internal import Synchronization

/// The fields of a document, which are decoded when they are needed for the first time.
struct DeferredFields: Sendable {
  private final class Decoding: Sendable {
    private let decode: @Sendable () -> RuleMap?
    private let decoded = Mutex<RuleMap??>(nil)

    init(_ decode: @escaping @Sendable () -> RuleMap?) {
      self.decode = decode
    }

    var fields: RuleMap? {
      decoded.withLock { decoded in
        if let decoded { return decoded }
        let fields = decode()
        decoded = .some(fields)
        return fields
      }
    }
  }

  private enum Form: Sendable {
    case known(RuleMap?)
    case deferred(Decoding)
  }

  private let form: Form

  init(_ fields: RuleMap?) { form = .known(fields) }

  init(_ decode: @escaping @Sendable () -> RuleMap?) { form = .deferred(Decoding(decode)) }

  /// Nil if there is no document.
  var fields: RuleMap? {
    switch form {
    case .known(let fields): fields
    case .deferred(let decoding): decoding.fields
    }
  }
}
