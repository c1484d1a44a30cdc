import HearthModel
import HearthSync

/// The edits that people make, and their answers to questions.
extension ConflictSimulation {
  private func nextToken(_ client: ConflictClient) -> String {
    lastToken += 1
    return "t\(lastToken)-\(client.number)"
  }

  func edit(_ client: ConflictClient) throws {
    let key = generator.pick(Self.keys)
    let view = try client.view(of: key)
    let fields = view.isFound ? try view.fields.decoded() : nil
    let token = nextToken(client)
    let path = FieldPath.made(of: ["tokens", token])
    tokens.insert(token)
    switch Int.random(in: 0..<10, using: &generator) {
    case 0 where fields != nil:
      // The tokens that the client sees go with their document.
      let seen = try Self.tokens(in: view)
      deleted.formUnion(seen)
      tokens.remove(token)
      return client.write(counted([.delete(key)]), Edit(tokens: [], client: client.number))
    case 1...4 where fields != nil && history.kind != .keepBoth:
      let patch = Mutation.patch(
        key, MapValue(["tokens": .map([token: .boolean(true)])]), mask: FieldMask([path]),
        transforms: generator.chance(30) ? [increment()] : [])
      client.write(counted([patch]), Edit(tokens: [token], client: client.number))
    case 5 where fields != nil:
      // Two documents at once, or none of them.
      let other = generator.pick(Self.keys.filter { $0 != key })
      let second = try set(other, client)
      tokens.insert(second.token)
      let first = try set(key, client, token: token)
      client.write(
        counted(first.mutations + second.mutations), Edit(tokens: [token, second.token], client: client.number))
    default:
      let write = try set(key, client, token: token)
      client.write(counted(write.mutations), Edit(tokens: [token], client: client.number))
    }
  }

  private func increment() -> FieldTransform {
    FieldTransform(path: FieldPath.made(of: ["n"]), operation: .increment(.integer(1)))
  }

  /// Some batches count one up in a document that no rule contains.
  private func counted(_ mutations: [Mutation]) -> [Mutation] {
    guard generator.chance(40) else { return mutations }
    return mutations + [
      .patch(ConflictLedger.counter, [:], mask: .empty, precondition: .none, transforms: [increment()])
    ]
  }

  /// Writes the whole document as the client sees it, with one token more.
  private func set(
    _ key: DocumentKey, _ client: ConflictClient, token: String? = nil
  ) throws -> (mutations: [Mutation], token: String) {
    let token = token ?? nextToken(client)
    let view = try client.view(of: key)
    var fields = view.isFound ? try view.fields.decoded() : MapValue()
    fields.set(.boolean(true), at: FieldPath.made(of: ["tokens", token]))
    fields.set(.string("\(client.number)"), at: FieldPath.made(of: ["author"]))
    fields.remove(at: .made(of: ["at"]))
    // Not drawn, so that histories stay what they were.
    let now = lastToken.isMultiple(of: 3) ? [FieldTransform(path: .made(of: ["at"]), operation: .serverTimestamp)] : []
    return ([.set(key, fields, transforms: now)], token)
  }

  static func tokens(in document: Document) throws -> Set<String> {
    guard document.isFound, case .map(let map)? = try document.fields.decoded()["tokens"] else { return [] }
    return Set(map.entries.map(\.key))
  }

  // MARK: - The application's answers

  func answer(_ client: ConflictClient, mayFail: Bool) {
    guard let conflict = client.questions.first?.conflict else { return }
    if mayFail, generator.chance(30) {
      let failures: [Result<ConflictAnswer, StatusError>] = [
        .failure(StatusError(code: .unknown, message: "the resolver has failed")),
        .success(.write([.set(.conflicting("elsewhere"), [:])])), .success(.write([])),
      ]
      return client.answerQuestion(generator.pick(failures))
    }
    client.answerQuestion(.success(.write([union(conflict)])))
  }

  /// All tokens of both sides, also if one of them has deleted the document.
  private func union(_ conflict: DocumentConflict) -> Mutation {
    var fields = (conflict.remote.isFound ? try? conflict.remote.fields.decoded() : nil) ?? MapValue()
    let local = (conflict.local.isFound ? try? conflict.local.fields.decoded() : nil) ?? MapValue()
    for entry in local.entries {
      if case .map(let mine) = entry.value, case .map(let theirs)? = fields[entry.key] {
        var both = theirs
        for entry in mine.entries { both[entry.key] = entry.value }
        fields[entry.key] = .map(both)
      } else {
        fields[entry.key] = entry.value
      }
    }
    fields.remove(at: .made(of: ["at"]))
    return .set(conflict.remote.key, fields)
  }
}

extension DocumentKey {
  /// A document of the collection that all clients edit.
  static func conflicting(_ id: String) -> DocumentKey {
    (try? DocumentKey(ResourcePath(["c", id])))!
  }
}

extension FieldPath {
  fileprivate static func made(of segments: [String]) -> FieldPath {
    (try? FieldPath(segments))!
  }
}
