internal import Foundation
internal import HearthModel

/// The fields of a document, or of a map inside it, as a value that can be passed between actors and tasks.
///
/// ```swift
/// let oakland: FieldMap = [
///   "name": "Oakland", "population": 440_646, "tags": ["port"], "changed": .serverTimestamp,
/// ]
/// try await Task.detached { try await cities.document("OAK").setData(fields: oakland) }.value
/// ```
///
/// A dictionary `[String: Any]` may contain anything, so in Swift 6 it can neither be passed to another task nor be returned from an actor.
/// Each method that takes such a dictionary also exists with the label `fields:`; ``DocumentSnapshot/fieldMap(with:)`` reads.
///
/// Names that differ only in Unicode normalisation are one name here, as in Swift's dictionaries.
public struct FieldMap: Sendable, Hashable, ExpressibleByDictionaryLiteral {
  /// The contents by the fields' names.
  public var contents: [String: FieldContent]

  /// Makes a map of these fields.
  public init(_ contents: [String: FieldContent] = [:]) {
    self.contents = contents
  }

  /// Makes a map of these fields. If entries have the same name, the last one counts.
  public init(dictionaryLiteral elements: (String, FieldContent)...) {
    self.init(elements)
  }

  /// Makes a map from untyped data, such as the result of ``DocumentSnapshot/data()``.
  ///
  /// - Parameter data: Values that `setData(_:)` takes.
  /// - Throws: `invalidArgument`, with the field, for a value that cannot be stored.
  public init(_ data: [String: Any]) throws {
    do throws(ProgrammingError) {
      self = try FieldMap(checking: data, below: "")
    } catch {
      throw NSError.firestore(.invalidArgument, error.message)
    }
  }

  /// Encodes a value, such as a struct, to a map.
  ///
  /// - Parameters:
  ///   - value: A value that encodes to a map.
  ///   - encoder: Strategies and `userInfo`.
  /// - Throws: Encoding errors; `invalidArgument` for a value that cannot be stored, such as an integer above `Int64.max`.
  public init<T: Encodable>(from value: T, encoder: Firestore.Encoder = Firestore.Encoder()) throws {
    try self.init(try encoder.encode(value))
  }

  /// The content of a field of this map, nil if there is none. Setting nil removes the field from the map; setting ``FieldContent/null``
  /// stores null.
  public subscript(name: String) -> FieldContent? {
    get { contents[name] }
    set { contents[name] = newValue }
  }

  init(_ elements: [(String, FieldContent)]) {
    contents = Dictionary(elements) { _, last in last }
  }

  init(_ map: MapValue, _ writer: UserDataWriter) {
    contents = Dictionary(map.entries.map { ($0.key, FieldContent($0.value, writer)) }) { _, last in last }
  }

  /// - Parameter prefix: The path above, with a dot at its end.
  init(checking data: [String: Any], below prefix: String) throws(ProgrammingError) {
    contents = [:]
    for (name, value) in data { contents[name] = try FieldContent(checking: value, at: prefix + name) }
  }

  /// The same fields as `setData(_:)` takes them.
  var objects: [String: Any] { contents.mapValues(\.object) }
}
