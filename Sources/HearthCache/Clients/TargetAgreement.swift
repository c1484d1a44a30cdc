/// How far the view of a target at the holder of the lease agrees with the backend.
package enum TargetAgreement: Int, Comparable, Sendable {
  /// The backend has not sent everything, or the view has documents that are still to be looked up.
  case open
  /// The backend has sent everything, and the view has documents that exist as it shows them and that the backend does not count among the
  /// query's. Nothing more is to be found out.
  case disputed
  case complete

  package static func < (left: TargetAgreement, right: TargetAgreement) -> Bool { left.rawValue < right.rawValue }
}

extension TargetAgreement: ExpressibleByBooleanLiteral {
  package init(booleanLiteral isComplete: Bool) { self = isComplete ? .complete : .open }
}
