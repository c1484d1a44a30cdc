/// The changes that the mutations of a batch make to one document, in a form that can be carried over to another version of it.
package struct DocumentEdit: Sendable {
  package let key: DocumentKey
  /// The fields before; nil if the document did not exist, or is not known.
  package let base: MapValue?
  /// The fields after all mutations without their transforms; nil if they delete the document.
  package let fields: MapValue?
  /// The transforms that are applied to `fields`, in order.
  package let transforms: [FieldTransform]
  private let mutations: [Mutation]

  /// Carries the mutations out whatever their preconditions say: whether they hold is the question.
  package init(_ mutations: [Mutation], on base: Document) throws(WireFormatError) {
    key = base.key
    self.base = base.isFound ? try base.fields.decoded() : nil
    self.mutations = mutations
    var fields = self.base
    var transforms: [FieldTransform] = []
    for mutation in mutations {
      switch mutation.operation {
      case .verify:
        continue
      case .delete:
        (fields, transforms) = (nil, [])
      case .set(let data):
        (fields, transforms) = (try data.decoded(), mutation.transforms)
      case .patch(let data, let mask):
        let values = try data.decoded()
        let replaced = Self.paths(replacedBy: mutation, values, mask, among: transforms)
        var changed = fields ?? MapValue()
        // What the transform made, and the maps around it, are there until then. A transform of such a map takes it for a value of another type.
        for path in replaced {
          let around = mutation.transforms.first { $0.path.isPrefix(of: path) }
          changed.set(.null, at: around?.path ?? path)
        }
        changed.replaceFields(mask, from: values)
        fields = changed
        transforms = transforms.filter { !replaced.contains($0.path) } + mutation.transforms
      }
    }
    self.fields = fields
    self.transforms = transforms
  }

  /// The paths of earlier transforms that a patch undoes: it writes the field, a field around it, or one below it, since a transform makes no
  /// map.
  private static func paths(
    replacedBy mutation: Mutation, _ values: MapValue, _ mask: FieldMask, among transforms: [FieldTransform]
  ) -> Set<FieldPath> {
    guard !transforms.isEmpty else { return [] }
    let new = mutation.transforms.map(\.path)
    let written = mask.paths.filter { values[$0] != nil } + new
    return Set(
      transforms.map(\.path).filter { path in
        mask.covers(path) || written.contains { path != $0 && path.isPrefix(of: $0) }
          || new.contains { path != $0 && $0.isPrefix(of: path) }
      })
  }

  /// The fields after the edit, with the device's time for that of the backend; nil if the document is deleted.
  package func contents(at localWriteTime: Timestamp) -> MapValue? {
    guard var values = fields else { return nil }
    for transform in transforms {
      values.set(transform.operation.applied(to: values[transform.path], time: localWriteTime), at: transform.path)
    }
    return values
  }

  /// As ``contents(at:)``, as a document.
  package func document(at localWriteTime: Timestamp) -> Document {
    guard let contents = contents(at: localWriteTime) else { return .missing(key, version: .none) }
    return .found(key, version: .none, fields: EncodedFields(contents))
  }

  /// The part of an edit that a document shows.
  package enum Effect: Equatable, Sendable {
    /// It is another one than the edit makes.
    case absent
    /// It is the one that the edit makes, as far as it can be told, and the one before the edit was not.
    case present
    /// It is the one that the edit makes, as the one before was.
    case open
  }

  /// Compares a document with what the edit makes, without the fields that transforms compute.
  package func effect(in remote: Document) throws(WireFormatError) -> Effect {
    func comparable(_ fields: MapValue?) -> MapValue? {
      guard var fields else { return nil }
      for transform in transforms { fields.remove(at: transform.path) }
      return fields
    }
    let mine = comparable(fields)
    guard comparable(remote.isFound ? try remote.fields.decoded() : nil) == mine else { return .absent }
    return comparable(base) == mine ? .open : .present
  }

  // MARK: - Resolutions

  /// The outcome of the edit.
  package enum Resolution: Equatable, Sendable {
    /// These mutations take its place.
    case mutations([Mutation])
    /// The backend's document stays as it is, and this mutation creates a second document.
    case copy(Mutation)
    /// The backend's document has it already.
    case isThere
    /// The backend's document stays as it is.
    case dropped
  }

  /// Resolves a conflict with the backend's document.
  ///
  /// - Parameters:
  ///   - copyName: part of the name of the copy that `keepBoth` makes.
  /// - Returns: Nil if the application has to decide.
  package func resolved(
    by policy: ConflictPolicy, with remote: Document, copyName: String, at localWriteTime: Timestamp
  ) throws(WireFormatError) -> Resolution? {
    let theirs = remote.isFound ? try remote.fields.decoded() : nil
    let mine = contents(at: localWriteTime)
    if transforms.isEmpty, mine == theirs { return .isThere }
    // The version has moved on, but the document has not.
    if let base, let theirs, base.isConfirmed(by: theirs) { return .mutations(mutations) }
    switch policy {
    case .ask:
      return nil
    case .mergeFields(let prefersRemote):
      return merged(with: theirs, prefersRemote: prefersRemote)
    case .lastWriter(let path):
      guard let mine else { return .dropped }
      guard let theirs else { return kept(over: remote) }
      guard let mineWritten = mine[path] else { return .dropped }
      guard let theirsWritten = theirs[path] else { return kept(over: remote) }
      return Value.compare(mineWritten, theirsWritten) == .descending ? kept(over: remote) : .dropped
    case .keepBoth:
      guard let fields else { return .dropped }
      guard theirs != nil else { return kept(over: remote) }
      return .copy(whole(fields, as: key.copy(named: copyName)))
    }
  }

  /// The edit as it was made, so that it has an effect on the backend's document.
  package func kept(over remote: Document) -> Resolution {
    guard !remote.isFound else { return .mutations(mutations) }
    guard let fields else { return .isThere }
    return .mutations([whole(fields, as: key)])
  }

  /// The edit as one that writes the whole document.
  private func whole(_ fields: MapValue, as key: DocumentKey) -> Mutation {
    .set(key, fields.withLocalTimestamps, transforms: transforms)
  }

  private func merged(with theirs: MapValue?, prefersRemote: Bool) -> Resolution {
    // An edit is worth more than a deletion, whichever side made it.
    guard let fields else { return .dropped }
    guard let theirs else { return .mutations([whole(fields, as: key)]) }
    var merge = FieldMerge(prefersRemote: prefersRemote)
    merge.compare(base: base ?? MapValue(), local: fields, remote: theirs, at: [])
    let mask = FieldMask(merge.changed)
    let kept = prefersRemote ? transforms.filter { !givesWay($0, to: theirs) } : transforms
    if mask.isEmpty, kept.isEmpty {
      return merge.hasDropped || kept.count < transforms.count ? .dropped : .isThere
    }
    return .mutations([
      .patch(key, fields.only(mask).withLocalTimestamps, mask: mask, precondition: .none, transforms: kept)
    ])
  }

  /// True if the remote side has made something of the field, or of a map around it, that the transform would replace.
  private func givesWay(_ transform: FieldTransform, to theirs: MapValue) -> Bool {
    let segments = transform.path.segments
    for count in 1..<segments.count {
      let around = FieldPath(unchecked: Array(segments.prefix(count)))
      if theirs[around]?.mergedMap == nil, theirs[around] != base?[around] { return true }
    }
    let remote = theirs[transform.path]
    return remote != base?[transform.path] && !transform.operation.combines(with: remote)
  }
}

extension MapValue {
  /// The device's time in place of server timestamps of earlier writes that the backend had not set when this one was made: no write may set what
  /// only a local view shows.
  var withLocalTimestamps: MapValue {
    var changed = self
    for entry in entries {
      switch entry.value {
      case .pendingServerTimestamp(let localWriteTime, _): changed[entry.key] = .timestamp(localWriteTime)
      case .map(let map): changed[entry.key] = .map(map.withLocalTimestamps)
      default: continue
      }
    }
    return changed
  }
}

/// Finds the fields in which one side of a conflict differs from the common base, and decides which of them to write.
private struct FieldMerge {
  let prefersRemote: Bool
  /// The local changes to write.
  var changed: [FieldPath] = []
  /// True if a local change gave way.
  var hasDropped = false

  mutating func compare(base: MapValue, local: MapValue, remote: MapValue, at path: [String]) {
    let names = Set(base.entries.map { Array($0.key.utf8) } + local.entries.map { Array($0.key.utf8) })
    for name in names.map({ String(decoding: $0, as: UTF8.self) }) {
      let (before, mine, theirs) = (base[name], local[name], remote[name])
      guard mine != before, mine != theirs else { continue }
      let field = path + [name]
      if let mine = mine?.mergedMap, let theirs = theirs?.mergedMap {
        compare(base: before?.mergedMap ?? MapValue(), local: mine, remote: theirs, at: field)
      } else if prefersRemote, theirs != before {
        hasDropped = true
      } else {
        changed.append(FieldPath(unchecked: field))
      }
    }
  }
}

extension Value {
  /// The map, if its fields can be written one by one. A vector has none: its entries have reserved names.
  var mergedMap: MapValue? {
    guard case .map(let map) = self, !map.isOfVectorType else { return nil }
    return map
  }
}

extension DocumentKey {
  /// The key of a copy of the document: its id, "~" and the name.
  package func copy(named name: String) -> DocumentKey {
    var segments = Array(path.segments)
    let id = segments.removeLast()
    // The number of segments is that of a document.
    return (try? DocumentKey(ResourcePath(segments + ["\(id)~\(name)"]))) ?? self
  }
}
