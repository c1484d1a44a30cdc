import Foundation
import HearthModel

/// Fields that were given as words of their own, without the option for them.
enum FieldWords {
  private static let example = #"{"name": "San Francisco"}"#

  /// The JSON that is most likely meant, such as `{"name": "Foo"}` for the word `name=Foo`; an example for JSON that a shell has cut; nil for
  /// words that are no fields.
  static func json(_ words: [String]) -> String? {
    guard let first = words.first else { return nil }
    if first.hasPrefix("{") {
      let whole = words.joined(separator: " ")
      return isJSON(whole) ? whole : example
    }
    var members: [String] = []
    for word in words {
      guard let sign = word.firstIndex(of: "="), sign != word.startIndex else { return nil }
      let value = String(word[word.index(after: sign)...])
      let name = JSONText.string(String(word[..<sign])).compact
      members.append("\(name): \(isJSON(value) ? value : JSONText.string(value).compact)")
    }
    return "{\(members.joined(separator: ", "))}"
  }

  private static func isJSON(_ text: String) -> Bool {
    (try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)) != nil
  }
}
