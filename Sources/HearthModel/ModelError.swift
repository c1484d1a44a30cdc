/// A path, field path, name or value that breaks a rule of the data model. The description names the value, the place
/// and the rule.
package enum ModelError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A slash-separated path is malformed.
  case invalidPath(String, rule: String)
  /// A document path has an odd number of segments, or none.
  case invalidDocumentPath(String, segmentCount: Int)
  /// A field path is malformed.
  case invalidFieldPath(String, rule: String)
  /// A name such as `projects/p/databases/d/documents/a/b` is malformed or of another database.
  case invalidResourceName(String, rule: String)
  /// A well-formed name that a backend does not accept.
  case violatesServerLimit(name: String, place: String, rule: String)

  package var description: String {
    switch self {
    case .invalidPath(let path, let rule):
      "Invalid path (\(path)). \(rule)"
    case .invalidDocumentPath(let path, let segmentCount):
      "Invalid document reference. Document references must have an even number of segments, but \(path) has "
        + "\(segmentCount)"
    case .invalidFieldPath(let path, let rule):
      "Invalid field path (\(path)). \(rule)"
    case .invalidResourceName(let name, let rule):
      "Invalid resource name (\(name)). \(rule)"
    case .violatesServerLimit(let name, let place, let rule):
      "\(place) \"\(name)\" is invalid because \(rule)"
    }
  }
}
