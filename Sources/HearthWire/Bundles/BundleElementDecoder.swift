internal import HearthModel

/// Reads one element of a bundle.
struct BundleElementDecoder {
  private let translator: WireTranslator
  private let maximumValueCount: Int

  init(databaseID: DatabaseID, maximumValueCount: Int) {
    translator = WireTranslator(database: databaseID)
    self.maximumValueCount = maximumValueCount
  }

  func decode(_ bytes: ArraySlice<UInt8>) throws(ProtoJSONError) -> BundleElement {
    let json: JSONText
    do {
      json = try JSONTextReader.read(bytes, maximumValueCount: maximumValueCount)
    } catch {
      throw ProtoJSONError(path: "", message: "it is not JSON: \(error.message) at byte \(error.offset)")
    }
    let element = ProtoJSON(json)
    if let metadata = element["metadata"] { return .metadata(try self.metadata(metadata)) }
    if let query = element["namedQuery"] { return .namedQuery(try namedQuery(query)) }
    if let metadata = element["documentMetadata"] { return .documentMetadata(try documentMetadata(metadata)) }
    if let document = element["document"] { return .document(try self.document(document)) }
    throw element.failure("it is none of metadata, namedQuery, documentMetadata and document")
  }

  private func metadata(_ json: ProtoJSON) throws(ProtoJSONError) -> BundleMetadata {
    BundleMetadata(
      id: try json.required("id").string(), createTime: try json.required("createTime").version(),
      version: try json["version"]?.count() ?? 0, totalDocuments: try json["totalDocuments"]?.count() ?? 0,
      totalBytes: try json["totalBytes"]?.count() ?? 0)
  }

  private func namedQuery(_ json: ProtoJSON) throws(ProtoJSONError) -> NamedQuery {
    NamedQuery(
      name: try json.required("name").string(), query: try json.required("bundledQuery").bundledQuery(translator),
      readTime: try json.required("readTime").version())
  }

  private func documentMetadata(_ json: ProtoJSON) throws(ProtoJSONError) -> BundledDocumentMetadata {
    var queries: [String] = []
    for name in try json["queries"]?.array() ?? [] { queries.append(try name.string()) }
    return BundledDocumentMetadata(
      key: try json.required("name").documentKey(translator.database),
      readTime: try json.required("readTime").version(),
      exists: try json["exists"]?.bool() ?? false, queries: queries)
  }

  private func document(_ json: ProtoJSON) throws(ProtoJSONError) -> Document {
    let fields = try json["fields"]?.fields(translator.database) ?? MapValue()
    return .found(
      try json.required("name").documentKey(translator.database), version: try json.required("updateTime").version(),
      createTime: try json["createTime"]?.version() ?? .none, fields: EncodedFields(fields))
  }
}
