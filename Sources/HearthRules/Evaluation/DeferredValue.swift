internal import Synchronization

/// A value that is made when it is needed for the first time.
final class DeferredValue: Sendable {
  private let make: @Sendable () -> RuleValue
  private let made = Mutex<RuleValue?>(nil)

  init(_ make: @escaping @Sendable () -> RuleValue) {
    self.make = make
  }

  var value: RuleValue {
    made.withLock { made in
      if let made { return made }
      let value = make()
      made = value
      return value
    }
  }
}
