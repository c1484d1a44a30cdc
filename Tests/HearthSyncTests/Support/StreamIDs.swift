@testable import HearthSync

extension StreamID: ExpressibleByIntegerLiteral {
  package init(integerLiteral value: Int) {
    self.init(rawValue: value)
  }
}
