/// The sender of what a task asks of the storage. The reads and the commits of different senders take turns, see ``ReadSchedule`` and
/// ``CommitQueue``.
enum CallSender {
  /// Empty for the owner and for the server itself.
  @TaskLocal static var current = ""
}
