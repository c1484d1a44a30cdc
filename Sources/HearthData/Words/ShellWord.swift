/// Texts as a shell takes them.
package enum ShellWord {
  /// The text as one word in single quotation marks.
  package static func quoted(_ text: String) -> String {
    "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
  }
}
