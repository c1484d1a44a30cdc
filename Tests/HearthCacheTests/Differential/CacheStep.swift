import HearthModel
import TestSupport

/// Something that happens to a cache, in a form that can be written down and played again without what happened around
/// it: versions and times come from the player's clock.
enum CacheStep: Sendable {
  /// A snapshot of the backend with these documents.
  case receive([Received])
  case write([Mutation])
  /// The backend's answer to the first pending write; nothing if none is pending.
  case acknowledge
  /// The backend's refusal of the first pending write.
  case reject
  case changeUser(String?)
  case reopen
  /// The backend confirms the result of a query, as it is at that moment, and the view has no document in limbo.
  case listen(Query)
  case setIndexes([IndexDefinition])
  case deleteAllIndexes
  /// Some steps of the filling, each of a few documents.
  case fillIndexes(steps: Int, documents: Int)

  /// A document in a snapshot.
  struct Received: Sendable {
    var key: DocumentKey
    /// Nil for a document that does not exist.
    var fields: MapValue?
    /// The time by which the document's version is older than the snapshot.
    var age: Int64
  }
}

extension CacheStep: CustomStringConvertible {
  var description: String {
    switch self {
    case .receive(let documents):
      let texts = documents.map { document in
        CaseText.text(document.key) + " " + (document.fields.map(CaseText.text) ?? "missing")
          + (document.age == 0 ? "" : " (\(document.age) old)")
      }
      return "receive " + texts.joined(separator: "; ")
    case .write(let mutations): return "write " + mutations.map(CaseText.text).joined(separator: "; ")
    case .acknowledge: return "acknowledge"
    case .reject: return "reject"
    case .changeUser(let user): return "user \(user ?? "nobody")"
    case .reopen: return "reopen"
    case .listen(let query): return "listen to \(CaseText.text(query))"
    case .setIndexes(let indexes): return "set indexes " + indexes.map(\.description).joined(separator: "; ")
    case .deleteAllIndexes: return "delete all indexes"
    case .fillIndexes(let steps, let documents): return "fill indexes, \(steps) steps of \(documents) documents"
    }
  }

  /// The step with less in it.
  var simpler: [CacheStep] {
    switch self {
    case .receive(let documents):
      return
        (Simpler.parts(of: documents).filter { !$0.isEmpty }
        + Simpler.elements(of: documents) { document in
          guard let fields = document.fields else { return [] }
          return Simpler.maps(of: fields).map { Received(key: document.key, fields: $0, age: document.age) }
            + (document.age == 0 ? [] : [Received(key: document.key, fields: fields, age: 0)])
        }).map(CacheStep.receive)
    case .write(let mutations):
      return
        (Simpler.singles(of: mutations).filter { !$0.isEmpty } + Simpler.elements(of: mutations, Self.simpler))
        .map(CacheStep.write)
    case .setIndexes(let indexes): return Simpler.singles(of: indexes).map(CacheStep.setIndexes)
    case .fillIndexes(let steps, let documents):
      return steps == 1 ? [] : [.fillIndexes(steps: steps / 2, documents: documents)]
    case .acknowledge, .reject, .changeUser, .reopen, .listen, .deleteAllIndexes: return []
    }
  }

  private static func simpler(_ mutation: Mutation) -> [Mutation] {
    var forms: [Mutation] = []
    for transforms in Simpler.singles(of: mutation.transforms) {
      var form = mutation
      form.transforms = transforms
      forms.append(form)
    }
    if case .set(let fields) = mutation.operation, let map = try? fields.decoded() {
      for smaller in Simpler.maps(of: map) {
        var form = mutation
        form.operation = .set(EncodedFields(smaller))
        forms.append(form)
      }
    }
    if case .patch(let fields, let mask) = mutation.operation {
      for paths in Simpler.singles(of: mask.paths) {
        var form = mutation
        form.operation = .patch(fields, mask: FieldMask(paths))
        forms.append(form)
      }
    }
    return forms
  }
}

extension CaseGenerator {
  /// Draws the next step of a cache.
  mutating func step(documents: [NaiveDocument]) -> CacheStep {
    switch below(100) {
    case 0..<34: return .receive((0...below(5)).map { _ in received() })
    case 34..<62: return .write((0...below(3)).map { _ in mutation() })
    case 62..<76: return .acknowledge
    case 76..<80: return .reject
    case 80..<84: return .changeUser(element([nil, "alice", "bob"]))
    case 84..<86: return .reopen
    case 86..<90: return .fillIndexes(steps: 1 + below(3), documents: 1 + below(12))
    default: return .listen(query(documents: documents))
    }
  }

  /// Draws changes of the indexes before these queries are run.
  ///
  /// - Parameter missing: the indexes that the cache itself would make for a query.
  mutating func indexSteps(
    for queries: [Query], missing: (Query) throws -> [IndexDefinition]
  ) rethrows -> [CacheStep] {
    if chance(25) { return [] }
    if chance(8) { return [.deleteAllIndexes] }
    var indexes: [IndexDefinition] = []
    for _ in 0..<4 + below(14) {
      let query = element(queries)
      indexes += chance(65) ? try missing(query) : [index(for: chance(90) ? query : nil)]
    }
    let definitions = indexes.filter { !$0.fields.isEmpty }
    if chance(20) { return [.setIndexes(definitions)] }
    let isPartial = chance(35)
    return [
      .setIndexes(definitions),
      .fillIndexes(steps: isPartial ? 1 + below(4) : 60, documents: isPartial ? 1 + below(20) : 1_000),
    ]
  }

  mutating func received() -> CacheStep.Received {
    CacheStep.Received(
      key: key(), fields: chance(88) ? fields() : nil, age: chance(15) ? Int64(below(200)) : 0)
  }
}
