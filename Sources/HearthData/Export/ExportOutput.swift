internal import Foundation
internal import Synchronization

/// Where an export goes.
package enum ExportDestination: Hashable, Sendable {
  case standardOutput
  /// One file. While it is unfinished it is named `FILE.part`, with its plan next to it in `FILE.plan`.
  case file(String)
  /// A folder with a file for each part, and the plan.
  case folder(String)

  /// Names the destination of a word of a command line: `-`, a folder that exists or whose name ends in a slash, or a file.
  package init(_ text: String) {
    var isFolder: ObjCBool = false
    if text == "-" {
      self = .standardOutput
    } else if text.hasSuffix("/") {
      let name = text.reversed().drop { $0 == "/" }.reversed()
      self = .folder(name.isEmpty ? "/" : String(name))
    } else if FileManager.default.fileExists(atPath: text, isDirectory: &isFolder), isFolder.boolValue {
      self = .folder(text)
    } else {
      self = .file(text)
    }
  }

  package static let planName = "export.json"

  var planPath: String? {
    switch self {
    case .standardOutput: nil
    case .file(let path): path + ".plan"
    case .folder(let path): path + "/" + Self.planName
    }
  }

  /// The file of a part while the export runs.
  func path(ofPart index: Int) -> String {
    switch self {
    case .standardOutput: ""
    case .file(let path): path + ".part"
    case .folder(let path): path + "/" + Self.name(ofPart: index)
    }
  }

  package static func name(ofPart index: Int) -> String {
    "documents-" + String(repeating: "0", count: max(0, 4 - String(index).utf8.count)) + "\(index).jsonl"
  }
}

/// The open files of an export. Readers of several parts write to them side by side.
final class ExportOutput: Sendable {
  private let files: [FileWriting]
  /// Held while bytes are written, so that lines of several parts do not mix.
  private let lock = Mutex(())

  init(files: [FileWriting]) {
    self.files = files
  }

  /// - Parameter lines: Whole lines.
  func write(_ lines: [UInt8], part: Int) throws(DataError) {
    let file = files[files.count == 1 ? 0 : part]
    let result = lock.withLock { _ in
      Result { () throws(DataError) in try file.write(lines) }
    }
    try result.get()
  }

  func synchronize() throws(DataError) {
    for file in files { try file.synchronize() }
  }
}
