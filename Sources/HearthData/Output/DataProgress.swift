internal import Synchronization

/// The progress of an export, an import or a recursive delete. The display reads it from time to time.
package final class DataProgress: Sendable {
  package struct State: Sendable, Equatable {
    /// Documents that were read, written or deleted.
    package var documents = 0
    /// Documents that were there already and stayed as they were.
    package var skipped = 0
    /// Documents that were refused, and lines that are none.
    package var failed = 0
    /// Documents that were refused because they exist; part of the others.
    package var conflicts = 0
    /// Documents that an earlier run had done already; part of the others.
    package var earlier = 0
    /// The share of the work that is done, of ``total``; documents or bytes.
    package var done = 0
    /// Nil if it is not known.
    package var total: Int?
  }

  private let state = Mutex(State())

  package init() {}

  package var current: State { state.withLock { $0 } }

  func change(_ body: (inout State) -> Void) {
    state.withLock { body(&$0) }
  }
}
