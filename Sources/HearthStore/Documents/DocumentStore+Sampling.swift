package import HearthModel

extension DocumentStore {
  /// Every `stride`-th key of some collections, counted through all of them. Reads an index and no document.
  package func sampledKeys(in scope: CollectionScope, stride: Int) throws -> [DocumentKey] {
    precondition(stride > 0, "a stride is at least 1")
    return try database.readTransaction("Sample keys") {
      var keys: [DocumentKey] = []
      var position = 0
      for (path, number) in try collections(in: scope) {
        let select = try database.prepare(
          "SELECT id FROM documents INDEXED BY documents_by_id WHERE collection = ? ORDER BY id", .integer(number))
        while try select.step() {
          if position.isMultiple(of: stride) { keys.append(try DocumentKey(path.appending(select.string(at: 0)))) }
          position += 1
        }
      }
      return keys
    }
  }
}
