package import Foundation
internal import HearthRPC
internal import Synchronization

/// The place of an issuer's keys.
package protocol TokenKeySource: Sendable {
  /// The name of the place in messages.
  var name: String { get }

  /// True if reading takes no longer than a token may wait for it.
  var isLocal: Bool { get }

  /// - Returns: Nil if the text is the same as the last time.
  /// - Throws: An error if it cannot be read.
  func read() async throws -> TokenKeyText?
}

/// The text of a set of keys, and how long it may be used without another look.
package struct TokenKeyText: Sendable {
  package let text: Data
  package let maximumAge: Duration

  package init(_ text: Data, maximumAge: Duration) {
    self.text = text
    self.maximumAge = maximumAge
  }
}

/// A file with keys. It is read again when it changes.
package final class TokenKeyFile: TokenKeySource {
  package let name: String
  package let isLocal = true
  private let file: BoundedFile
  private let seen = Mutex<BoundedFile.Stamp?>(nil)

  package init(path: String) {
    file = BoundedFile(path: path, maximumBytes: TokenKeySet.maximumBytes)
    name = "The key file \"\(path)\""
  }

  private static let maximumAge = Duration.seconds(1)

  package func read() throws -> TokenKeyText? {
    let stamp = file.stamp
    guard stamp != seen.withLock({ $0 }) else { return nil }
    let text: Data
    do {
      text = try file.contents()
    } catch {
      throw TokenKeyError("\(name) \(error)")
    }
    seen.withLock { $0 = stamp }
    return TokenKeyText(text, maximumAge: Self.maximumAge)
  }
}
