extension DocumentEdit {
  /// Describes a resolution.
  ///
  /// - Parameters:
  ///   - isMerge: True if the mutations of the resolution are no edit of one side.
  /// - Returns: Nil if there was nothing to decide: the backend has the edit already, or has what it had before.
  package func report(
    of resolution: Resolution, isMerge: Bool, over remote: Document, at localWriteTime: Timestamp
  ) throws(WireFormatError) -> ConflictReport? {
    let theirs = remote.isFound ? try remote.fields.decoded() : nil
    if let base, base == theirs { return nil }
    let mine = contents(at: localWriteTime)
    var result = theirs
    let ending: ConflictReport.Ending
    switch resolution {
    case .isThere: return nil
    case .dropped: ending = .remote
    case .copy(let mutation): return ConflictReport(key: key, ending: .both(copy: mutation.key))
    case .mutations(let mutations):
      result = try DocumentEdit(mutations.filter { $0.key == key }, on: remote).contents(at: localWriteTime)
      // What the application writes may be the deletion that one side has made.
      let isDeletion = result == nil && (mine == nil || theirs == nil)
      ending = isMerge && !isDeletion ? .merged : isMerge && mine != nil ? .remote : .local
    }
    var comparison = FieldComparison(
      localCounts: mine != nil, remoteCounts: theirs != nil, transforms: transforms, time: localWriteTime)
    comparison.compare(
      FieldComparison.Maps(
        base: base?.withLocalTimestamps, local: mine?.withLocalTimestamps, remote: theirs,
        result: result?.withLocalTimestamps), at: [])
    return ConflictReport(
      key: key, ending: ending, isDeletedLocally: mine == nil, isDeletedRemotely: theirs == nil,
      fields: comparison.fields)
  }
}

/// Finds the fields in which a change has not come into the result.
private struct FieldComparison {
  struct Maps {
    var base: MapValue?
    var local: MapValue?
    var remote: MapValue?
    var result: MapValue?
  }

  /// False for a side that deletes the document: what is dropped of it is the deletion, not a change of each field.
  let localCounts: Bool
  let remoteCounts: Bool
  /// The transforms of the local edit. Those of a field are carried over if the result has them on top of the backend's value.
  let transforms: [FieldTransform]
  let time: Timestamp
  var fields: [ConflictReport.Field] = []

  mutating func compare(_ maps: Maps, at path: [String]) {
    let all = [maps.base, maps.local, maps.remote, maps.result]
    let names = Set(all.flatMap { $0?.entries.map { Array($0.key.utf8) } ?? [] })
    for name in names.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
      let name = String(decoding: name, as: UTF8.self)
      let (base, local, remote, result) = (
        maps.base?[name], maps.local?[name], maps.remote?[name], maps.result?[name]
      )
      let field = path + [name]
      if let local = local?.mergedMap, let remote = remote?.mergedMap, let result = result?.mergedMap {
        compare(Maps(base: base?.mergedMap, local: local, remote: remote, result: result), at: field)
        continue
      }
      let dropsLocal = localCounts && local != base && result != local
      let dropsRemote = remoteCounts && remote != base && result != remote
      guard dropsLocal || dropsRemote else { continue }
      let path = FieldPath(unchecked: field)
      let computed = transforms.filter { $0.path == path }
      if !computed.isEmpty, result == computed.reduce(remote, { $1.operation.applied(to: $0, time: time) }) { continue }
      fields.append(
        ConflictReport.Field(
          path: path, base: base, local: local, remote: remote,
          kept: result == local ? .local : result == remote ? .remote : nil))
    }
  }
}
