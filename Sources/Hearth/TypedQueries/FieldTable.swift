internal import Foundation
internal import HearthModel

/// The names that properties of a model have in its documents.
///
/// A literal lists them: `[\.name: "name", \.address.zip: "address.zip"]`. A key path to a property of a nested struct is an entry of
/// its own. If a key path is listed twice, the last entry counts.
// @unchecked: key paths never change, and those of this table are Sendable by the types of its initializers. As keys of a
// dictionary they have to be of a type without that mark.
public struct FieldTable<Model>: @unchecked Sendable, ExpressibleByDictionaryLiteral {
  private let names: [PartialKeyPath<Model>: FieldName]

  /// Makes a table of these properties.
  public init(dictionaryLiteral elements: (PartialKeyPath<Model> & Sendable, FieldName)...) {
    self.init(elements.map { ($0.0, $0.1) })
  }

  /// Makes a table of properties and their coding keys, so that the compiler checks the spelling.
  ///
  /// ```swift
  /// static let fieldTable = FieldTable<City>(codingKeys: [\.name: CodingKeys.name, \.population: .population])
  /// ```
  ///
  /// - Parameter codingKeys: The keys under which the encoder writes the properties, without a conversion of names.
  public init<Key: CodingKey>(codingKeys: KeyValuePairs<PartialKeyPath<Model> & Sendable, Key>) {
    self.init(codingKeys.map { ($0.key, FieldName(segment: $0.value.stringValue)) })
  }

  private init(_ entries: [(PartialKeyPath<Model>, FieldName)]) {
    names = Dictionary(entries) { _, last in last }
  }

  /// The path of a property's field.
  ///
  /// - Throws: An error that names the model and the property, if the table does not list it or lists an impossible name.
  func path(of property: PartialKeyPath<Model>) throws(ProgrammingError) -> HearthModel.FieldPath {
    guard let name = names[property] else {
      throw ProgrammingError(
        "\(Model.self).fieldTable has no entry for the property \(property). Add one, with the field's name in documents."
      )
    }
    do {
      return try name.path.get()
    } catch {
      throw ProgrammingError("\(Model.self).fieldTable has an impossible name for the property \(property): \(error)")
    }
  }
}

/// The name of a field in a ``FieldTable``, as a literal: a field's path, split at dots.
public struct FieldName: Sendable, ExpressibleByStringLiteral {
  let path: Result<HearthModel.FieldPath, ProgrammingError>

  /// A field's path, split at dots. A query that uses a malformed path fails.
  public init(stringLiteral value: String) {
    path = Result { () throws(ProgrammingError) in try FieldPath.parsed(value) }
  }

  /// A field whose name may contain dots.
  ///
  /// - Parameter path: The path of the field.
  public init(_ path: FieldPath) {
    self.path = .success(path.model)
  }

  /// The document's id, for a property with ``DocumentID``.
  public static var documentID: FieldName { FieldName(.documentID()) }

  init(segment: String) {
    path = Result { () throws(ProgrammingError) in try FieldPath.checked([segment]) }
  }
}
