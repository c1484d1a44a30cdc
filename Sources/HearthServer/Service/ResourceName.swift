internal import HearthModel

/// A name of a request, split into its database and its path.
struct ResourceName {
  var database: DatabaseID
  /// Empty for the root.
  var path: ResourcePath

  /// Parses `projects/<p>/databases/<d>/documents[/<path>]`.
  ///
  /// - Parameter field: The field of the request that holds the name, for the error.
  init(parsing name: String, at field: String) throws(StatusError) {
    let parts = name.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 4, omittingEmptySubsequences: false)
    guard parts.count == 5, parts[4].starts(with: "documents".utf8) else {
      throw .invalid(
        "\(field) is \"\(name)\", but must have the form projects/<project>/databases/<database>/documents/<path>")
    }
    do {
      let prefix = parts.prefix(4).map { String(Substring($0)) }.joined(separator: "/")
      database = try Self.checked(DatabaseID(resourceName: prefix))
      path = try database.path(fromName: name)
    } catch {
      throw .invalid("\(field): \(error)")
    }
  }

  /// The name of a document.
  static func document(_ name: String, at field: String) throws(StatusError) -> (DatabaseID, DocumentKey) {
    let resource = try ResourceName(parsing: name, at: field)
    do {
      let key = try DocumentKey(resource.path)
      try key.validateServerLimits()
      return (resource.database, key)
    } catch {
      if resource.path.isEmpty || !resource.path.count.isMultiple(of: 2) {
        throw .invalid("Document name \"\(name)\" lacks \"/\" at index \(name.utf8.count).")
      }
      if case .violatesServerLimit = error { throw .invalid("\(error)") }
      throw .invalid("\(field): \(error)")
    }
  }

  /// The name of a document or of the root, the parents of collections.
  static func parent(_ name: String, at field: String) throws(StatusError) -> ResourceName {
    let resource = try ResourceName(parsing: name, at: field)
    guard resource.path.count.isMultiple(of: 2) else {
      throw .invalid("\(field) is \"\(name)\", which is a collection; it must be a document or the database's root")
    }
    do { try resource.path.validateServerLimits() } catch { throw .invalid("\(error)") }
    return resource
  }

  /// The name of a database.
  static func database(_ name: String, at field: String) throws(StatusError) -> DatabaseID {
    do {
      return try checked(DatabaseID(resourceName: name))
    } catch {
      throw .invalid("\(field): \(error)")
    }
  }

  /// - Throws: An error for a name that clients could not send in a header, so that only some of them could use the database.
  private static func checked(_ database: DatabaseID) throws(ModelError) -> DatabaseID {
    if let fault = database.nameFault { throw .invalidResourceName(database.resourceName, rule: fault) }
    return database
  }
}
