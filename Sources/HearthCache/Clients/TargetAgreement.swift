/// The agreement between the backend and the view of a target at the holder of the lease, as far as it is valid for all users of the cache.
package enum TargetAgreement: Int, Comparable, Sendable {
  /// The backend has not sent everything, or the view has documents that are still to be looked up.
  case open
  /// The backend has sent everything, but does not count some existing documents of the view among the query's results. Looking them up again
  /// changes nothing.
  case disputed
  /// The view agrees with the backend.
  case complete

  package static func < (left: TargetAgreement, right: TargetAgreement) -> Bool { left.rawValue < right.rawValue }
}
