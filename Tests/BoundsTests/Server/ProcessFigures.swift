import Foundation

/// The resources that a process uses, as `/proc` reports them.
struct ProcessFigures: Sendable {
  let pid: Int32

  /// False on systems other than Linux, and where `/proc` cannot be written to.
  static var canBeRead: Bool { FileManager.default.isWritableFile(atPath: "/proc/self/clear_refs") }

  var residentBytes: Int { status("VmRSS") }

  /// Bytes of the largest resident set since ``forgetPeak()``.
  var peakResidentBytes: Int { status("VmHWM") }

  var descriptors: Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count) ?? 0 }

  /// proc(5): 5 in `clear_refs` resets the peak of the resident set.
  func forgetPeak() throws {
    try Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/\(pid)/clear_refs"))
  }

  private func status(_ name: String) -> Int {
    guard let text = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8),
      let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name) }),
      let kibibytes = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap({ Int($0) })
    else { return 0 }
    return kibibytes << 10
  }

  /// Processor time of all threads, in steps of 10 ms.
  ///
  /// proc(5): the times in user and in kernel mode are fields 14 and 15; the second one may hold spaces, and ends with a parenthesis.
  var processorTime: Duration {
    guard let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
      let end = text.lastIndex(of: ")")
    else { return .zero }
    let ticks = text[end...].split(separator: " ").dropFirst(12).prefix(2).compactMap { Int($0) }.reduce(0, +)
    return .milliseconds(1000 * ticks / Int(sysconf(Int32(_SC_CLK_TCK))))
  }
}
