/// The tables of a document store: the documents and the local indexes over them.
enum StoreSchema {
  static let schema = Schema(
    component: "store",
    migrations: [
      Migration(
        version: 1, name: "documents and local indexes", statements: DocumentSchema.statements + IndexSchema.statements)
    ],
    probes: DocumentSchema.probes + IndexSchema.probes)
}
