internal import Foundation
internal import HearthModel
internal import HearthWire
internal import SwiftProtobuf

/// Outcomes as they are stored, for requests that are repeated.
extension CommitOutcome {
  /// The outcome without its document.
  func encoded(by translator: WireTranslator) throws -> [UInt8] {
    var message = Google_Firestore_V1_CommitResponse()
    message.commitTime = translator.encode(version)
    message.writeResults = results.map { translator.encode($0) }
    return [UInt8](try message.serializedData())
  }

  init(encoded bytes: [UInt8], by translator: WireTranslator) throws {
    let message = try Google_Firestore_V1_CommitResponse(serializedBytes: bytes)
    let version = SnapshotVersion(try translator.decode(message.commitTime, at: "commit_time"))
    let results = try message.writeResults.map { result in
      // A stored result without an update time is that of a delete.
      var decoded = try translator.decode(result, commitVersion: version, at: "write_results")
      if !result.hasUpdateTime { decoded.version = .none }
      return decoded
    }
    self.init(version: version, results: results)
  }
}
