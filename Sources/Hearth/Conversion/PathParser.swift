internal import Foundation
internal import HearthModel

/// Parses slash-separated paths as users write them, with messages that name the broken rule.
enum PathParser {
  static func path(_ string: String) throws(ProgrammingError) -> ResourcePath {
    do {
      return try ResourcePath(parsing: string)
    } catch {
      throw ProgrammingError("\(error)")
    }
  }

  static func documentKey(_ string: String, under parent: ResourcePath = ResourcePath()) throws(ProgrammingError)
    -> DocumentKey
  {
    guard !string.isEmpty else { throw ProgrammingError("Document path cannot be empty.") }
    let path = parent.appending(try path(string))
    do {
      return try DocumentKey(path)
    } catch {
      throw ProgrammingError(
        """
        Invalid document reference. Document references must have an even number of segments, but \
        \(path.canonicalString) has \(path.count)
        """)
    }
  }

  static func collection(_ string: String, under parent: ResourcePath = ResourcePath()) throws(ProgrammingError)
    -> ResourcePath
  {
    guard !string.isEmpty else { throw ProgrammingError("Collection path cannot be empty.") }
    let path = parent.appending(try path(string))
    guard path.count % 2 == 1 else {
      throw ProgrammingError(
        """
        Invalid collection reference. Collection references must have an odd number of segments, but \
        \(path.canonicalString) has \(path.count)
        """)
    }
    return path
  }

  static func collectionGroup(_ id: String) throws(ProgrammingError) -> String {
    guard !id.isEmpty else { throw ProgrammingError("Collection ID cannot be empty.") }
    guard !id.contains("/") else {
      throw ProgrammingError("Invalid collection ID (\(id)). Collection IDs must not contain / in them.")
    }
    return id
  }
}
