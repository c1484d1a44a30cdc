import HearthModel
import HearthStore

func key(_ path: String) -> DocumentKey {
  do {
    return try DocumentKey(parsing: path)
  } catch {
    fatalError("\(error)")
  }
}

func path(_ text: String) -> ResourcePath {
  text.isEmpty ? ResourcePath() : ResourcePath(text.split(separator: "/").map(String.init))
}

func field(_ name: String) -> FieldPath {
  do {
    return try FieldPath(parsingUserFormat: name)
  } catch {
    fatalError("\(error)")
  }
}

func version(_ number: Int64) -> SnapshotVersion { SnapshotVersion(microseconds: number) }

/// A document that was read at the time of its version, unless said otherwise.
func found(
  _ path: String, _ number: Int64 = 1, _ fields: MapValue = [:], readTime: Int64? = nil
) -> Document {
  .found(
    key(path), version: version(number), createTime: version(1), readTime: version(readTime ?? number),
    fields: EncodedFields(fields))
}

func missing(_ path: String, _ number: Int64) -> Document {
  .missing(key(path), version: version(number), readTime: version(number))
}

func keys(_ documents: [Document]) -> [String] { documents.map(\.key.canonicalString) }

extension DocumentStore {
  func setAll(_ documents: Document...) throws {
    try database.transaction("Store documents") {
      for document in documents { try set(document) }
    }
  }

  func scan(_ scope: CollectionScope, changedAfter: SnapshotVersion? = nil) throws -> [Document] {
    var result: [Document] = []
    try forEach(in: scope, changedAfter: changedAfter) {
      result.append(try $0.document())
      return true
    }
    return result.sorted { $0.key < $1.key }
  }
}

/// Local mutations that a test sets.
struct Overlays: LocalMutationSource {
  var mutations: [DocumentKey: Mutation]

  init(_ mutations: Mutation...) {
    self.mutations = Dictionary(mutations.map { ($0.key, $0) }) { $1 }
  }

  init(_ mutations: [DocumentKey: Mutation]) {
    self.mutations = mutations
  }

  var owner: Int64? { 1 }

  func hasLocalMutations(in scope: CollectionScope) -> Bool {
    mutations.keys.contains { scope.contains($0) }
  }

  func localMutations(in scope: CollectionScope) -> [DocumentKey: Mutation] {
    mutations.filter { scope.contains($0.key) }
  }

  func localMutations(for keys: Set<DocumentKey>) -> [DocumentKey: Mutation] {
    mutations.filter { keys.contains($0.key) }
  }
}
