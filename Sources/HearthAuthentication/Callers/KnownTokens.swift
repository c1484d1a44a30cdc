internal import Crypto
internal import HearthServer
internal import Synchronization

/// The tokens that were verified, so that a token costs one signature. They are kept by their digests: no text of a token stays in memory.
///
/// When there is no room, the oldest ones go. A token that is gone is verified again.
final class KnownTokens: Sendable {
  struct Entry: Sendable {
    var caller: Caller
    /// Seconds since 1970.
    var expiry: Double
    /// The issuer and its keys with which the token was verified.
    var issuer: Int
    var release: Int
    /// The size of what was made of the token: claims, and the same as rules see them.
    var byteCount: Int
  }

  private struct State {
    var entries: [[UInt8]: Entry] = [:]
    /// From the oldest to the newest. Entries that were replaced or removed stand here until their turn comes.
    var order: [(digest: [UInt8], expiry: Double)] = []
    var first = 0
    var byteCount = 0
  }

  private let maximumCount: Int
  private let maximumBytes: Int
  private let state = Mutex(State())

  init(maximumCount: Int = 20_000, maximumBytes: Int = 64 << 20) {
    self.maximumCount = maximumCount
    self.maximumBytes = maximumBytes
  }

  /// The callers and apps of tokens. They are apart: a token of one kind may not stand for one of the other.
  enum Kind: String {
    case caller = "caller "
    case app = "app "
  }

  /// - Parameter kind: Stands before the token, so that those of different kinds have different digests.
  static func digest(_ token: Substring, _ kind: Kind) -> [UInt8] {
    var (token, kind) = (token, kind.rawValue)
    var hash = SHA256()
    kind.withUTF8 { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }
    token.withUTF8 { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }
    return hash.finalize().withUnsafeBytes { Array($0) }
  }

  subscript(digest: [UInt8]) -> Entry? { state.withLock { $0.entries[digest] } }

  func remember(_ entry: Entry, for digest: [UInt8]) {
    state.withLock { state in
      if let former = state.entries.updateValue(entry, forKey: digest) { state.byteCount -= former.byteCount }
      state.byteCount += entry.byteCount
      state.order.append((digest, entry.expiry))
      while state.entries.count > maximumCount || state.byteCount > maximumBytes
        || state.order.count - state.first > 2 * maximumCount
      {
        Self.removeOldest(from: &state)
      }
      // Half of the list is behind it.
      if state.first > maximumCount {
        state.order.removeFirst(state.first)
        state.first = 0
      }
    }
  }

  private static func removeOldest(from state: inout State) {
    let (digest, expiry) = state.order[state.first]
    state.first += 1
    guard let entry = state.entries[digest], entry.expiry == expiry else { return }
    state.entries[digest] = nil
    state.byteCount -= entry.byteCount
  }

  var count: Int { state.withLock { $0.entries.count } }
}
