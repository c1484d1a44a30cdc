internal import Foundation

/// Finds out which process holds a lock.
enum LockHolder {
  /// The id of a process that holds a `LockFile` at a path; nil if there is none, or the system does not tell, as other
  /// systems than Linux and some file systems of containers do not.
  static func processID(path: String) -> Int32? {
    // A line is "1: FLOCK  ADVISORY  WRITE 4711 fe:00:123456 0 EOF" (https://man7.org/linux/man-pages/man5/proc_locks.5.html).
    guard let file = fileID(path), let locks = try? String(contentsOfFile: "/proc/locks", encoding: .utf8) else {
      return nil
    }
    for line in locks.split(separator: "\n") {
      let words = line.split(separator: " ", omittingEmptySubsequences: true)
      // A process that waits for a lock has an arrow before the kind.
      guard words.count >= 6, words[1] == "FLOCK", words[5] == file else { continue }
      // Processes of other namespaces have no number here.
      if let process = Int32(words[4]), process > 0 { return process }
    }
    return nil
  }

  /// Device and number of a file as the system writes them in its list of locks.
  private static func fileID(_ path: String) -> String? {
    guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),
      let number = (attributes[.systemFileNumber] as? NSNumber)?.uint64Value,
      let device = (attributes[.systemNumber] as? NSNumber)?.uint64Value
    else { return nil }
    let major = (device >> 8) & 0xFFF | (device >> 32) & ~0xFFF
    let minor = device & 0xFF | (device >> 12) & 0xFFFF_FF00
    func digits(_ number: UInt64) -> String { (number < 16 ? "0" : "") + String(number, radix: 16) }
    return "\(digits(major)):\(digits(minor)):\(number)"
  }
}
