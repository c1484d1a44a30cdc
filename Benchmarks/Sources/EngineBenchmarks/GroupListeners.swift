internal import BenchmarkKit
internal import HearthModel
internal import HearthSync

/// A client with one listener for each of the first groups of the documents, in sync with the backend.
struct GroupListeners {
  let client: Client
  private let samples: SampleDocuments
  private let targets: [TargetID]

  init(_ client: Client, _ samples: SampleDocuments, count: Int) throws {
    self.client = client
    self.samples = samples
    targets = try (0..<count).map { try client.listenInSync(SampleDocuments.equality($0)) }
    client.targetChange(.current, targets)
    client.snapshot()
  }

  /// Sends snapshots of ten changed documents each, to one listener after the other. Making the documents is not measured.
  func receive(snapshotCount: Int, _ stopwatch: Stopwatch) throws {
    let before = client.snapshotCount
    for number in 0..<snapshotCount {
      let group = number % targets.count
      let documents = try stopwatch.excluding {
        try (0..<10).map {
          var document = try samples.document($0 * samples.groupCount + group, revision: number + 1)
          document.version = SnapshotVersion(
            microseconds: SampleDocuments.firstVersion.microseconds + Int64(number + 2) * 1_000_000)
          return document
        }
      }
      for document in documents { client.send(document, to: [targets[group]]) }
      client.snapshot()
    }
    guard client.snapshotCount - before == snapshotCount else {
      throw WrongResult(count: client.snapshotCount - before, expected: snapshotCount)
    }
  }
}
