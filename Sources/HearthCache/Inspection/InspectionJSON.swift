package import HearthModel
package import HearthPlan
package import HearthStore

extension CacheOverview {
  package var json: JSONText {
    let writes: [(name: String, value: JSONText)] = [
      ("pendingWrites", .integer(pending.writes)), ("pendingBatches", .integer(pending.batches)),
      ("rejectedWrites", .integer(rejected.writes)), ("rejectedBatches", .integer(rejected.batches)),
      ("resolvedConflicts", .integer(resolvedConflictCount)), ("setAsideBatches", .integer(setAsideBatchCount)),
    ]
    let sizes: [(name: String, value: JSONText)] = [
      ("folder", .string(folder)),
      ("project", databaseID.map { .string($0.projectID) } ?? .null),
      ("database", databaseID.map { .string($0.database) } ?? .null),
      ("cacheID", .string(cacheID)),
      ("schema", .object(schema.map { ($0.name, .integer($0.version)) })),
      ("fileBytes", .integer(fileBytes)), ("usedBytes", .integer(usedBytes)), ("logBytes", .integer(logBytes)),
      ("estimatedDocuments", estimatedDocumentCount.map { .integer($0) } ?? .null),
      ("targets", .integer(targetCount)),
    ]
    let uses: [(name: String, value: JSONText)] = [
      ("users", .array(users.map(\.json))),
      (
        "pinnedQueries",
        .array(
          pinnedQueries.map { .object([("query", .string($0.query)), ("documents", .integer($0.documentCount))]) })
      ),
      ("isInExclusiveUse", .bool(exclusiveUse != nil)),
      ("exclusiveProcess", exclusiveUse?.processID.map { .integer($0) } ?? .null),
      ("clients", .array(clients.map(\.json))),
      ("backend", backend.isEmpty ? .null : .string(backend)),
      ("knownDamage", knownDamage.map { .string($0) } ?? .null),
      ("filesSetAside", .array(filesSetAside.map { .string($0) })),
    ]
    return .object(sizes + writes + uses)
  }
}

extension CacheOverview.User {
  package var json: JSONText {
    .object([
      ("user", OutboxOwner(name: id).userIDJSON), ("owner", .string(OutboxOwner(name: id).inWords)),
      ("pendingWrites", .integer(pending.writes)), ("pendingBatches", .integer(pending.batches)),
      ("unreadableBatches", .integer(unreadableBatchCount)),
      ("rejectedWrites", .integer(rejected.writes)), ("rejectedBatches", .integer(rejected.batches)),
      ("resolvedConflicts", .integer(resolvedConflictCount)),
    ])
  }
}

extension CacheOverview.Client {
  package var json: JSONText {
    .object([
      ("name", .string(name)), ("user", OutboxOwner(name: user).userIDJSON),
      ("owner", .string(OutboxOwner(name: user).inWords)), ("isAlive", .bool(isAlive)),
      ("process", processID.map { .integer($0) } ?? .null),
      ("isPrimary", .bool(isPrimary)), ("wantsNetwork", .bool(wantsNetwork)), ("targets", .integer(targetCount)),
    ])
  }
}

extension OutboxOwner {
  /// Null for all but users.
  var userIDJSON: JSONText { userID.map { .string($0) } ?? .null }
}

extension OutboxEntry {
  /// - Parameter value: gives the JSON of a value.
  package func json(_ value: (Value) -> JSONText) -> JSONText {
    var members: [(name: String, value: JSONText)] = [
      ("batch", .integer(batchID)), ("user", owner.map(\.userIDJSON) ?? .null), ("owner", .string(owner.inWords)),
      ("bytes", .integer(byteCount)),
      ("isSetAside", .bool(isSetAside)),
    ]
    switch contents {
    case .unreadable(let reason): members.append(("unreadable", .string(reason)))
    case .batch(let batch):
      members.append(("writtenAt", .string(batch.localWriteTime.rfc3339)))
      members.append(("writes", .array(batch.mutations.map { $0.json(value) })))
    }
    return .object(members)
  }
}

extension Mutation {
  /// The name of the operation, as the API calls it.
  package var operationName: String {
    switch operation {
    case .set: "set"
    case .patch: "update"
    case .delete: "delete"
    case .verify: "verify"
    }
  }

  /// - Parameter value: gives the JSON of a value.
  func json(_ value: (Value) -> JSONText) -> JSONText {
    var members: [(name: String, value: JSONText)] = [
      ("document", .string(key.canonicalString)), ("operation", .string(operationName)),
    ]
    switch operation {
    case .set(let fields): members.append(("fields", fields.json(value)))
    case .patch(let fields, let mask):
      members.append(("fields", fields.json(value)))
      members.append(("changedFields", .array(mask.paths.map { .string($0.canonicalString) })))
    case .delete, .verify: break
    }
    if !transforms.isEmpty { members.append(("transforms", .array(transforms.map { $0.json(value) }))) }
    switch precondition {
    case .none: break
    case .exists(let exists): members.append(("onlyIf", .object([("exists", .bool(exists))])))
    case .updateTime(let version):
      members.append(("onlyIf", .object([("updateTime", .string(version.timestamp.rfc3339))])))
    }
    return .object(members)
  }
}

extension FieldTransform {
  fileprivate func json(_ json: (Value) -> JSONText) -> JSONText {
    let (name, operand): (String, JSONText) =
      switch operation {
      case .serverTimestamp: ("serverTimestamp", true)
      case .increment(let value): ("increment", json(value))
      case .arrayUnion(let elements): ("arrayUnion", .array(elements.map(json)))
      case .arrayRemove(let elements): ("arrayRemove", .array(elements.map(json)))
      case .minimum(let value): ("minimum", json(value))
      case .maximum(let value): ("maximum", json(value))
      }
    return .object([("field", .string(path.canonicalString)), (name, operand)])
  }
}

extension EncodedFields {
  /// The fields as JSON; a text that says so if the bytes are damaged.
  fileprivate func json(_ value: (Value) -> JSONText) -> JSONText {
    do { return value(.map(try decoded())) } catch { return .string("unreadable: \(error)") }
  }
}

extension IndexListing {
  package var json: JSONText {
    .object([
      ("index", .string(definition.description)), ("collectionGroup", .string(definition.collectionGroup)),
      ("origin", .string(origin == .declared ? "declared" : "automatic")),
      ("isFilled", .bool(fill == .complete)), ("entries", .integer(rowCount)), ("bytes", .integer(byteCount)),
    ])
  }
}

extension QueryExecution {
  /// The plan in one word.
  package var planName: String {
    switch plan {
    case .document: "document"
    case .keys: "keys"
    case .index: "index"
    case .previousResult: "previous result"
    case .scan: "scan"
    }
  }

  package var json: JSONText {
    .object([
      ("plan", .string(planName)),
      ("indexes", .array(accesses.compactMap(\.indexName).map { .string($0) })),
      ("reasonForNoIndex", reason.map { .string($0) } ?? .null),
      ("missingIndexes", .array(missingIndexes.map { .string($0.description) })),
      ("rowsRead", .integer(rowsRead)), ("entriesRead", .integer(entriesRead)),
      ("documentsDecoded", .integer(documentsDecoded)), ("results", .integer(resultCount)),
      (
        "steps",
        .array(steps.map { .object([("step", .string($0.name)), ("milliseconds", .double($0.milliseconds))]) })
      ),
    ])
  }
}

extension QueryExecution.Access {
  package var indexName: String? {
    if case .index(let definition, _, _) = self { definition.description } else { nil }
  }
}

extension QueryExecution.Step {
  package var milliseconds: Double {
    Double(duration.components.seconds) * 1e3 + Double(duration.components.attoseconds / 1_000_000_000_000) / 1e3
  }
}
