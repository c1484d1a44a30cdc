import Foundation
import HearthData

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// The receiver of the output: a person at a terminal, or another program.
enum Terminal {
  static let isOutputTerminal = isatty(STDOUT_FILENO) != 0
  static let isErrorTerminal = isatty(STDERR_FILENO) != 0
  static let isInputTerminal = isatty(STDIN_FILENO) != 0

  /// The columns of the terminal; those that COLUMNS names where that is not known. A file or another program takes lines of any length.
  static var width: Int {
    if let size = size(of: STDOUT_FILENO), size.ws_col > 0 { return Int(size.ws_col) }
    return ProcessInfo.processInfo.environment["COLUMNS"].flatMap { Int($0) }.map { max(20, $0) } ?? unlimitedWidth
  }

  /// The columns for a line on standard error.
  static var errorWidth: Int { size(of: STDERR_FILENO).map { Int($0.ws_col) }.flatMap { $0 > 0 ? $0 : nil } ?? 80 }

  /// The lines of the terminal; nil where they are not known.
  static var height: Int? { size(of: STDOUT_FILENO).map { Int($0.ws_row) }.flatMap { $0 > 0 ? $0 : nil } }

  private static let unlimitedWidth = 100_000

  private static func size(of descriptor: Int32) -> winsize? {
    var size = winsize()
    return ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 ? size : nil
  }

  /// Colours only on a terminal, and not where the user has switched them off (https://no-color.org).
  static let usesColours =
    isOutputTerminal && (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty
    && ProcessInfo.processInfo.environment["TERM"] != "dumb"

  enum Style: String {
    case bold = "1"
    case red = "31"
    case green = "32"
    case dim = "2"
  }

  static func styled(_ text: String, _ style: Style) -> String {
    usesColours ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
  }

  /// The text without characters that a terminal would obey: a document may hold any.
  static func safe(_ text: String) -> String { TableLayout.safe(text) }

  /// As ``safe(_:)``, with the ends of lines kept.
  static func safeLines(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { safe(String($0)) }.joined(separator: "\n")
  }

  static func write(_ line: String) { write(Data((line + "\n").utf8)) }

  /// Writes to standard output. A reader that has ended, such as `head`, is no failure of this program.
  static func write(_ data: Data) { try? FileHandle.standardOutput.write(contentsOf: data) }

  static func writeError(_ line: String) { writeError(Data((line + "\n").utf8)) }

  /// Writes to standard error, as ``write(_:)-(Data)``.
  static func writeError(_ data: Data) { try? FileHandle.standardError.write(contentsOf: data) }

  /// Ends the process at once.
  static func end(_ status: Int32) -> Never { exit(status) }

  static func size(_ bytes: Int64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"]
    var (value, unit) = (Double(bytes), 0)
    while value >= 1024, unit < units.count - 1 {
      value /= 1024
      unit += 1
    }
    return unit == 0 ? "\(bytes) B" : String(format: "%.1f ", value) + units[unit]
  }
}
