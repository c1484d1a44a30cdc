/// The tables of a document store: the documents and the local indexes over them.
enum StoreSchema {
  static let schema = schema(findsByReadTime: true)
  /// Without the index by read time; see ``DocumentSchema``.
  static let schemaWithoutReadTimes = schema(findsByReadTime: false)

  private static func schema(findsByReadTime: Bool) -> Schema {
    Schema(
      component: "store",
      migrations: [
        Migration(
          version: 1, name: "documents and local indexes",
          statements: DocumentSchema.statements + (findsByReadTime ? DocumentSchema.readTimeStatements : [])
            + IndexSchema.statements),
        Migration(version: 2, name: "scopes of local indexes", statements: IndexSchema.scopes),
        Migration(version: 3, name: "uses of automatic indexes", statements: IndexSchema.uses),
      ],
      probes: DocumentSchema.probes + (findsByReadTime ? DocumentSchema.readTimeProbes : []) + IndexSchema.probes)
  }
}
