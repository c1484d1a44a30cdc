package import Foundation

/// A file of a server's configuration: read as a whole if it is not too large, and again when it changes.
package struct BoundedFile: Sendable {
  /// Changes when the file is written or replaced, and when it becomes readable or unreadable.
  package struct Stamp: Equatable, Sendable {
    private let modified: Date?
    private let size: Int?
    private let file: Int?
    private let isReadable: Bool

    fileprivate init(path: String) {
      // Of the file that links lead to: secrets of Kubernetes and certificates of certbot are links, which are changed behind them.
      let target = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
      let attributes = try? FileManager.default.attributesOfItem(atPath: target)
      modified = attributes?[.modificationDate] as? Date
      size = attributes?[.size] as? Int
      file = attributes?[.systemFileNumber] as? Int
      isReadable = FileManager.default.isReadableFile(atPath: target)
    }
  }

  /// The reason for which a file cannot be read, without its path: `cannot be read: …`.
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  package let path: String
  private let maximumBytes: Int

  package init(path: String, maximumBytes: Int = 1 << 20) {
    self.path = path
    self.maximumBytes = maximumBytes
  }

  package var stamp: Stamp { Stamp(path: path) }

  package func contents() throws(Failure) -> Data {
    let contents: Data
    do {
      let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
      defer { try? file.close() }
      contents = try file.read(upToCount: maximumBytes + 1) ?? Data()
    } catch {
      throw Failure(description: "cannot be read: \(Self.reason(error))")
    }
    guard contents.count <= maximumBytes else { throw Failure(description: "has more than \(maximumBytes) bytes") }
    return contents
  }

  /// The system's words, which are clearer than Foundation's; those where the system has none.
  private static func reason(_ error: any Error) -> String {
    if let system = ((error as NSError).userInfo[NSUnderlyingErrorKey] as? any Error).map({ $0 as NSError }),
      system.domain == NSPOSIXErrorDomain
    {
      return String(cString: strerror(Int32(system.code)))
    }
    // Foundation ends its sentence with a full stop, and so do the callers theirs.
    let sentence = (error as NSError).localizedDescription
    return sentence.hasSuffix(".") ? String(sentence.dropLast()) : sentence
  }

  package func text() throws(Failure) -> String {
    guard let text = String(bytes: try contents(), encoding: .utf8) else {
      throw Failure(description: "is not text in UTF-8")
    }
    return text
  }
}
