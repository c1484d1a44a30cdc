/// The locks by which the operating system knows the clients that share a cache: which of them live, and which one holds the lease.
///
/// A lock ends with its holder, whatever ends the holder. No clock decides anything.
package protocol ClientLocks: AnyObject {
  /// The name of this client. No other client of the cache ever has it.
  var name: String { get }

  /// Returns false when the client with this name has ended.
  func isAlive(_ name: String) -> Bool

  /// Takes the lock of the lease without waiting.
  ///
  /// - Returns: False while another client holds it.
  func acquireLease() throws -> Bool

  /// True if no client holds the lock of the lease.
  var leaseIsFree: Bool { get }

  /// Gives the lock of the lease back. Does nothing if this client does not hold it.
  func releaseLease()
}
