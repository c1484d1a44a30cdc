#if os(Linux)
  import Testing

  @testable import HearthTransport

  /// The kernel's own notices.
  @Suite("The network as Linux reports it", .timeLimit(.minutes(1)))
  struct RouteConnectivityTests {
    @Test("a watch ends without leaving anything behind")
    func ends() async throws {
      final class Token: Sendable {}
      weak var token: Token?
      do {
        let held = Token()
        token = held
        let watch = try RouteConnectivity().watch { [held] _ in _ = held }
        watch.end()
        watch.end()
      }
      // The sockets belong to the same object as the callback.
      while token != nil { try await Task.sleep(for: .milliseconds(5)) }
    }
  }
#endif
