/// Returns when the condition holds. A test that waits in vain ends with its time limit.
nonisolated(nonsending) package func waitUntil(_ condition: () async throws -> Bool) async throws {
  while try await !condition() { try await Task.sleep(for: .milliseconds(5)) }
}
