internal import HearthRPC

/// The sender of a task's reads. Reads of different senders take turns, see ``ReadSchedule``.
enum ReadSender {
  /// The owner's and the server's own reads are those of one sender.
  @TaskLocal static var current = ""

  /// Carries out a call whose reads are those of its caller.
  static func carryOut(_ call: ServerCall, _ run: () async throws -> Void) async throws {
    guard let sender = (call.identity?.caller as? Caller)?.sender(from: call.origin), !sender.isEmpty else {
      return try await run()
    }
    try await $current.withValue(sender, operation: run)
  }
}
