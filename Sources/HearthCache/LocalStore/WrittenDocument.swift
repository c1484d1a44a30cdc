package import HearthModel

/// A document that the active user may have written.
package struct WrittenDocument: Sendable {
  /// True while a write to it has no outcome that the backend's last snapshot would show: it is pending, or was acknowledged since.
  package var awaitsOutcome: Bool
  /// The document as that snapshot has it; nil if that is not known, or there is none.
  package var confirmed: Document?

  package init(awaitsOutcome: Bool, confirmed: Document?) {
    self.awaitsOutcome = awaitsOutcome
    self.confirmed = confirmed
  }
}
