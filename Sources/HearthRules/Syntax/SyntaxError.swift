/// A place where a rules file does not follow the language.
struct SyntaxError: Error {
  let message: String
  let range: SourceRange

  init(_ message: String, _ range: SourceRange) {
    self.message = message
    self.range = range
  }
}
