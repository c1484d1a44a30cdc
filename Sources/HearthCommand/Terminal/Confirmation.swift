import Foundation
import HearthData

/// The question before something is deleted.
enum Confirmation {
  /// Asks a person at the terminal.
  ///
  /// - Parameter question: Such as `Delete "cities"?`.
  /// - Throws: A `DataError` that says that nothing was deleted, unless the answer is yes.
  static func ask(_ question: String) throws {
    Terminal.writeError(Data("\(Terminal.safe(question)) [y/N] ".utf8))
    guard let answer = readLine()?.lowercased(), answer == "y" || answer == "yes" else {
      throw DataError("Nothing was deleted.")
    }
  }
}
