package import Foundation
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
  private struct Stamp: Equatable {
    var modified: Date?
    var size: Int?
    var file: Int?
  }

  package let name: String
  package let isLocal = true
  private let path: String
  private let stamp = Mutex<Stamp?>(nil)

  package init(path: String) {
    self.path = path
    name = "The key file \"\(path)\""
  }

  private static let maximumAge = Duration.seconds(1)

  package func read() throws -> TokenKeyText? {
    let attributes: [FileAttributeKey: Any]
    do {
      attributes = try FileManager.default.attributesOfItem(atPath: path)
    } catch {
      throw TokenKeyError("\(name) cannot be read: \((error as NSError).localizedDescription)")
    }
    let present = Stamp(
      modified: attributes[.modificationDate] as? Date, size: attributes[.size] as? Int,
      file: attributes[.systemFileNumber] as? Int)
    guard present != stamp.withLock({ $0 }) else { return nil }
    guard attributes[.type] as? FileAttributeType != .typeDirectory else {
      throw TokenKeyError("\(name) is a folder")
    }
    let text: Data
    do {
      let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
      defer { try? file.close() }
      text = try file.read(upToCount: TokenKeySet.maximumBytes + 1) ?? Data()
    } catch {
      throw TokenKeyError("\(name) cannot be read: \((error as NSError).localizedDescription)")
    }
    stamp.withLock { $0 = present }
    return TokenKeyText(text, maximumAge: Self.maximumAge)
  }
}
