/// Returns when the condition holds. A test that waits in vain ends with its time limit.
package func waitUntil(_ condition: () -> Bool) async throws {
  while !condition() { try await Task.sleep(for: .milliseconds(5)) }
}
