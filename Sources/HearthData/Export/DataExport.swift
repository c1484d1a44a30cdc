internal import Foundation
package import HearthModel
internal import HearthTransport

/// Writes documents as JSON lines: of one version, several parts side by side, and so that an unfinished one can go on.
package struct DataExport: Sendable {
  package var scopes: [ExportScope] = [.everything]
  package var destination: ExportDestination
  /// The parts that are read at the same time.
  package var parallelism = 4
  /// A version in the past; nil for the present one.
  package var readTime: SnapshotVersion?
  /// True to go on with an export that has ended before its end.
  package var resumes = false
  /// True to ask the backend how many documents there are, for the progress.
  package var counts = false
  /// The documents of a part's first request. Later ones have more if the documents are small.
  ///
  /// `hearth serve` walks through all documents for each request of a query over all collections, so few large requests are better.
  package var pageSize = 5000
  /// The parts for each reader. More of them even out differences in size.
  private static let partsPerReader = 2

  package init(destination: ExportDestination) { self.destination = destination }

  /// - Returns: The number of documents in the export.
  /// - Throws: A ``DataError``, or `CancellationError`. What is written stays, for ``resumes``.
  package func run(_ backend: DataBackend, progress: DataProgress) async throws -> Int {
    if let count = try finishedCount() {
      progress.change { ($0.documents, $0.earlier, $0.done) = (count, count, count) }
      return count
    }
    let (plan, output, scans) = try await begin(backend)
    let earlier = scans.map(\.documentCount).reduce(0, +)
    progress.change {
      ($0.documents, $0.earlier, $0.done) = (earlier, earlier, earlier)
    }
    if counts, let total = await count(plan, backend) { progress.change { $0.total = total } }
    let positions = plan.parts.indices.map { index in scans.lazy.compactMap { $0.positions[index] }.first }
    try await withThrowingTaskGroup(of: Void.self) { group in
      var running = 0
      for index in plan.parts.indices {
        if running == parallelism { _ = try await group.next() } else { running += 1 }
        group.addTask { try await read(index, of: plan, after: positions[index], backend, output, progress) }
      }
      try await group.waitForAll()
    }
    try finish(plan, output)
    return progress.current.documents
  }

  // MARK: - Beginning

  /// The documents of an export that is complete already, if this one is to go on with it.
  private func finishedCount() throws(DataError) -> Int? {
    switch destination {
    case .standardOutput:
      if resumes { throw DataError("--resume needs a file or a folder: what went to standard output is not known.") }
      return nil
    case .file(let path):
      guard FileManager.default.fileExists(atPath: path) else {
        try ParentFolder.check(of: path)
        return nil
      }
      guard resumes else { throw .file(path, "exists. Choose another name, or delete it.") }
      return try Self.lineCount(path)
    case .folder(let path):
      guard let planPath = destination.planPath, FileManager.default.fileExists(atPath: planPath) else { return nil }
      guard resumes else {
        throw .file(path, "holds an export. Choose another folder, delete it, or go on with it with --resume.")
      }
      let plan = try ExportPlan(contentsOfFile: planPath)
      guard plan.isComplete else { return nil }
      var count = 0
      for index in plan.parts.indices { count += try Self.lineCount(destination.path(ofPart: index)) }
      return count
    }
  }

  private static func lineCount(_ path: String) throws(DataError) -> Int {
    let lines = try LineReader(path: path)
    var count = 0
    while try lines.next() != nil { count += 1 }
    return count
  }

  private func begin(_ backend: DataBackend) async throws -> (ExportPlan, ExportOutput, [ExportScan]) {
    guard let planPath = destination.planPath else {
      return (try await makePlan(backend), ExportOutput(files: [FileWriting()]), [])
    }
    var plan: ExportPlan
    if FileManager.default.fileExists(atPath: planPath) {
      guard resumes else {
        throw DataError.file(
          planPath, "shows an export that is not finished. Go on with it with --resume, or delete it and its file.")
      }
      plan = try ExportPlan(contentsOfFile: planPath)
      try check(plan, planPath, backend)
    } else {
      plan = try await makePlan(backend)
      if case .folder(let path) = destination { try Self.makeFolder(path) }
      try plan.write(to: planPath)
    }
    let isFolder = if case .folder = destination { true } else { false }
    var (files, scans): ([FileWriting], [ExportScan]) = ([], [])
    for index in isFolder ? Array(plan.parts.indices) : [0] {
      let path = destination.path(ofPart: index)
      let scan = try ExportScan(file: path, parts: plan.parts, only: isFolder ? index : nil)
      let file = try FileWriting(path: path, isNew: false)
      try file.truncate(to: scan.byteCount)
      files.append(file)
      scans.append(scan)
    }
    return (plan, ExportOutput(files: files), scans)
  }

  private static func makeFolder(_ path: String) throws(DataError) {
    do {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    } catch {
      throw .file(path, "cannot be made: \(FileFailure.reason(error)).")
    }
  }

  /// An export goes on with what it was begun for.
  private func check(_ plan: ExportPlan, _ path: String, _ backend: DataBackend) throws(DataError) {
    guard plan.databaseID == backend.databaseID else {
      throw .file(
        path,
        "is of an export of \(plan.databaseID), not of \(backend.databaseID). Give the same --project and --database.")
    }
    let scopes = ExportScope.withoutOverlaps(scopes)
    guard scopes == plan.scopes || scopes == [.everything] else {
      throw .file(path, "is of an export of other collections. Leave out --collection, or name the same ones.")
    }
    if let readTime, readTime != plan.readTime {
      let time = plan.readTime.map { "the state at \($0.timestamp.rfc3339)" } ?? "the present state"
      throw .file(
        path, "is of an export of \(time), and --read-time is \(readTime.timestamp.rfc3339). Leave out --read-time.")
    }
  }

  // MARK: - Planning

  private func makePlan(_ backend: DataBackend) async throws -> ExportPlan {
    let scopes = ExportScope.withoutOverlaps(scopes)
    let version = try await version(backend, scopes.first ?? .everything)
    var parts: [ExportPart] = []
    for scope in scopes {
      let points = parallelism > 1 ? await dividingKeys(scope, version, backend) : []
      parts += ExportPart.parts(of: scope, dividedAt: points, maximumCount: parallelism * Self.partsPerReader)
    }
    return ExportPlan(databaseID: backend.databaseID, readTime: version, parts: parts)
  }

  /// The version of the export; nil for a backend that cannot read in the past.
  private func version(_ backend: DataBackend, _ scope: ExportScope) async throws -> SnapshotVersion? {
    let first = scope.query(after: nil, from: nil, to: nil, in: backend.databaseID).with(limit: 1)
    if let readTime {
      _ = try await backend.retrying("Reading at \(readTime.timestamp.rfc3339)", isFirstContact: true) {
        () async throws(StatusError) in
        try await backend.transport.runQuery(first, selecting: [], at: readTime) { _ in }
      }
      return readTime
    }
    let present = try await backend.retrying("Reading", isFirstContact: true) { () async throws(StatusError) in
      try await backend.transport.runQuery(first, selecting: []) { _ in }
    }
    guard let present else { return nil }
    do {
      _ = try await backend.transport.runQuery(first, selecting: [], at: present) { _ in }
      return present
    } catch {
      guard error.isPassing else { return nil }
      return present
    }
  }

  /// The most collections that are asked for dividing keys.
  private static let dividedCollections = 16

  /// Keys that divide a scope into parts of similar size; none if the backend does not say.
  private func dividingKeys(
    _ scope: ExportScope, _ version: SnapshotVersion?, _ backend: DataBackend
  ) async -> [DocumentKey] {
    var groups: [String] = []
    switch scope {
    case .everything: groups = (try? await backend.transport.collectionIDs(below: ResourcePath(), at: version)) ?? []
    case .below(let path), .collection(let path): groups = [path.last ?? ""]
    }
    var keys: [DocumentKey] = []
    for group in groups.prefix(Self.dividedCollections) {
      keys +=
        (try? await backend.transport.partitionPoints(
          ofCollectionGroup: group, partCount: parallelism * Self.partsPerReader, at: version)) ?? []
    }
    return keys
  }

  private func count(_ plan: ExportPlan, _ backend: DataBackend) async -> Int? {
    var total = 0
    for scope in plan.scopes {
      let query = scope.query(after: nil, from: nil, to: nil, in: backend.databaseID)
      let answer = try? await backend.transport.aggregate(
        query, [Aggregation(alias: "count", operation: .count(upTo: nil))], until: .now + .seconds(20))
      guard case .integer(let count)? = answer?.values["count"] else { return nil }
      total += Int(clamping: count)
    }
    return total
  }

  // MARK: - Reading

  private func read(
    _ index: Int, of plan: ExportPlan, after position: DocumentKey?, _ backend: DataBackend, _ output: ExportOutput,
    _ progress: DataProgress
  ) async throws {
    let part = plan.parts[index]
    let reading = PartReading(
      part: part, index: index, position: position, database: plan.databaseID, output: output, progress: progress)
    var next: Int? = pageSize
    while let limit = next {
      _ = try await backend.retrying("Reading") { () async throws(StatusError) in
        let query = part.scope.query(
          after: reading.beginPage(), from: part.start, to: part.end, in: plan.databaseID
        ).with(limit: limit)
        return try await backend.transport.runQuery(query, at: plan.readTime) { reading.take($0) }
      }
      next = try reading.endPage(limit: limit)
    }
  }

  // MARK: - Finishing

  private func finish(_ plan: ExportPlan, _ output: ExportOutput) throws(DataError) {
    guard let planPath = destination.planPath else { return }
    try output.synchronize()
    switch destination {
    case .standardOutput: break
    case .file(let path):
      try FileWriting.move(destination.path(ofPart: 0), to: path)
      FileWriting.remove(planPath)
    case .folder:
      var plan = plan
      plan.isComplete = true
      try plan.write(to: planPath)
    }
  }
}
