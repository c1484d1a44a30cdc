/// Names one listener; chosen by the caller, and not used again while the listener lives.
package struct ListenerID: Hashable, Sendable {
  package var rawValue: Int

  package init(rawValue: Int) {
    self.rawValue = rawValue
  }
}

/// Names one request that is answered exactly once; chosen by the caller.
package struct RequestID: Hashable, Sendable {
  package var rawValue: Int

  package init(rawValue: Int) {
    self.rawValue = rawValue
  }
}

/// Names one attempt to open a stream; chosen by the engine, never used twice in its life.
///
/// Events of a stream that was closed or replaced carry an old id and are ignored, so that the transport may deliver
/// them late.
package struct StreamID: Hashable, Sendable {
  package var rawValue: Int

  package init(rawValue: Int) {
    self.rawValue = rawValue
  }
}
