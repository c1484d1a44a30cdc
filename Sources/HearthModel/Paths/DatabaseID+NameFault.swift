extension DatabaseID {
  /// The reason why no database can have these names; nil if one can. They become parts of resource names and headers, so a slash would
  /// make them name something else. Backends have narrower limits of their own, emulators nearly none.
  package var nameFault: String? {
    Self.fault(projectID, "Project id") ?? Self.fault(database, "Database id")
  }

  private static func fault(_ id: String, _ what: String) -> String? {
    let isVisible = id.utf8.allSatisfy { (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "/") }
    guard id.isEmpty || !isVisible else { return nil }
    return "\(what) \"\(id)\": ids consist of visible ASCII characters without \"/\", at least one."
  }
}
