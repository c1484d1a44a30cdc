public import Foundation
internal import HearthModel

/// The path to a field of a document: one name for a top-level field, several for a field inside maps.
///
/// The API splits a `String` at dots; a `FieldPath` is for names that contain dots or other special characters, and for the
/// document's id:
///
/// ```swift
/// let inTown = query.whereField(FieldPath(["address", "zip.code"]), isEqualTo: "94103")
/// let two = query.whereField(FieldPath.documentID(), in: ["SF", "LA"])
/// ```
public final class FieldPath: NSObject, NSCopying, Sendable {
  let model: HearthModel.FieldPath

  /// Makes a path of these names, outermost first. Any character is legal in a name; an empty list or an empty name is a
  /// programming error.
  public init(_ fieldNames: [String]) {
    model = requireValid { () throws(ProgrammingError) in try FieldPath.checked(fieldNames) }
  }

  init(_ model: HearthModel.FieldPath) {
    self.model = model
  }

  /// The pseudo-field `__name__`: the document's id in filters, orders and cursors.
  public class func documentID() -> FieldPath { FieldPath(.documentKey) }

  /// Two paths are equal when they have the same names.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? FieldPath else { return false }
    return model == other.model
  }

  /// A hash of the names.
  public override var hash: Int { model.hashValue }

  /// The receiver itself, which never changes.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  /// The path in the form of index definitions, with names with special characters in backticks.
  public override var description: String { model.canonicalString }

  static func checked(_ fieldNames: [String]) throws(ProgrammingError) -> HearthModel.FieldPath {
    guard !fieldNames.isEmpty else {
      throw ProgrammingError("Invalid field path. Provided names must not be empty.")
    }
    if let empty = fieldNames.firstIndex(of: "") {
      throw ProgrammingError("Invalid field name at index \(empty). Field names must not be empty.")
    }
    do {
      return try HearthModel.FieldPath(fieldNames)
    } catch {
      throw ProgrammingError("\(error)")
    }
  }

  /// Parses a path that a user wrote with dots.
  static func parsed(_ string: String) throws(ProgrammingError) -> HearthModel.FieldPath {
    do {
      return try HearthModel.FieldPath(parsingUserFormat: string)
    } catch {
      throw ProgrammingError("\(error)")
    }
  }

  /// A path given as `String` or ``FieldPath``, as the untyped parameters of the API allow; nil for other types.
  static func parsed(untyped value: Any) throws(ProgrammingError) -> HearthModel.FieldPath? {
    if let path = value as? FieldPath { return path.model }
    if let string = value as? String { return try parsed(string) }
    if let string = value as? NSString { return try parsed(string.description) }
    return nil
  }
}
