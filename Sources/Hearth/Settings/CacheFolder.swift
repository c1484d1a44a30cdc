internal import Foundation

/// The folder of a Firestore object's cache.
///
/// The cache holds the queue of unsent writes, so it is data, and nothing that the system may delete at any time: on Linux it belongs
/// under `$XDG_DATA_HOME` (XDG Base Directory Specification), on Apple platforms under Application Support.
package enum CacheFolder {
  static func path(base: URL?, app: String, projectID: String, database: String, environment: [String: String])
    -> String
  {
    let base = base ?? defaultBase(environment: environment)
    return [app, projectID, database].reduce(base) { $0.appendingPathComponent(escaped($1), isDirectory: true) }.path
  }

  package static func defaultBase(environment: [String: String]) -> URL {
    #if canImport(Darwin)
      let support = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
      return (support ?? URL(fileURLWithPath: NSHomeDirectory())).appendingPathComponent("hearth", isDirectory: true)
    #else
      // The specification says that relative paths must be ignored.
      let home = environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? NSHomeDirectory()
      let data = environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? home + "/.local/share"
      return URL(fileURLWithPath: data, isDirectory: true).appendingPathComponent("hearth", isDirectory: true)
    #endif
  }

  /// The name with everything but letters, digits and `-_.()` percent-encoded, so that any app name is one folder name;
  /// names of dots only are encoded, too.
  static func escaped(_ name: String) -> String {
    let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.()".utf8)
    let onlyDots = name.allSatisfy { $0 == "." }
    var result = name.isEmpty ? "%" : ""
    for byte in name.utf8 {
      if plain.contains(byte), !onlyDots {
        result.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        let digits = String(byte, radix: 16, uppercase: true)
        result += "%" + (digits.count == 1 ? "0" : "") + digits
      }
    }
    return result
  }
}
