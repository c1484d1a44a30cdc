import Foundation
import FuzzSupport

@testable import HearthRE2

@main
private enum Main {
  /// A pattern and, behind the first byte 0xFF, a text, as both may come from anybody.
  static func main() throws {
    let seeds = RegularExpressionFuzz.seeds.map { Array($0.pattern.utf8) + [0xFF] + Array($0.text.utf8) }
    try FuzzProgram.run(seeds: seeds) { bytes in
      let parts = bytes.split(separator: 0xFF, maxSplits: 1, omittingEmptySubsequences: false)
      let pattern = String(decoding: parts[0], as: UTF8.self)
      do {
        try RegularExpressionFuzz.run(pattern: pattern, text: Array(parts.dropFirst().joined()))
      } catch {
        fatalError("\(pattern): \(error)")
      }
    }
  }
}

private enum RegularExpressionFuzz {
  static let seeds: [(pattern: String, text: String)] = [
    ("^[a-z0-9._%+-]+@[a-z0-9.-]+\\.[a-z]{2,}$", "someone@example.org"), (".*foo.*", "a foo"), ("(a*)*b", "aaaa"),
    ("(?i)(?P<n>k|[[:^alpha:]\\pL-])+?\\b", "Kk"), ("(?ms-U:^.$)|\\Q*\\E{2,3}", "a\n**"),
    ("\\x{1F600}|\\123|\\D", "😀S"),
    ("(|a)*(\\b|b.??)+\\B$", "ab ab"), ("(?:a{0,30}){0,30}", "aaa"), ("[^\\x00-\\x7f]|\\p{Greek}{2,}", "αβ"),
  ]

  private static let programLimit = 2000
  /// The instructions of a pattern times the bytes of its text, so that an input takes a fraction of a second without optimization. The work
  /// grows with this product.
  private static let workLimit = 400_000

  static func run(pattern: String, text: [UInt8]) throws {
    guard let expression = try? RegularExpression(pattern, programLimit: programLimit) else { return }
    let text = text.prefix(workLimit / max(expression.programSize, 1))
    var work = Matcher.Work()
    try text.withUnsafeBufferPointer { bytes in
      let text = UTF8Text(bytes)
      let contains = try expression.matcher.contains(text, work: &work)
      let isWhole = try expression.matcher.matchesWhole(text, work: &work)
      let match = try expression.matcher.firstMatch(in: text, from: 0, withGroups: true, work: &work)
      precondition(contains == (match != nil), "\(pattern): contains \(contains), first match \(match as Any)")
      precondition(contains || !isWhole, "\(pattern): matches the whole text, which has no match")
      precondition(match?.count ?? expression.groupCount + 1 == expression.groupCount + 1)
    }
    // Up to five readings of the text, with the instructions that states were made of.
    let limit = 5 * 3 * (text.count + 1) * expression.programSize
    precondition(work.steps <= limit, "\(pattern): \(work.steps) steps for \(text.count) bytes")
    let string = String(decoding: text, as: UTF8.self)
    _ = try? expression.replacingAll(in: string, with: "<\\0>", resultLimit: 1 << 20)
    if let parts = try? expression.split(string) { precondition(parts.count <= string.unicodeScalars.count + 1) }
  }
}
