import HearthModel
import HearthWire
import Testing

private let translator = WireTranslator(database: database)

@Suite("Watch messages that cannot be understood")
struct UnreadableAnswerTests {
  private func targets(
    _ change: (inout Google_Firestore_V1_ListenResponse) -> Void
  ) throws -> (ids: [TargetID], isTargetChange: Bool) {
    var message = Google_Firestore_V1_ListenResponse()
    change(&message)
    guard case .unreadable(let unreadable) = try translator.decodeNamingTargets(message) else { return ([], false) }
    let expected = try wireError { _ = try translator.decode(message) }
    #expect(unreadable.error.code == .internal && unreadable.error.message.contains(expected.field))
    return (unreadable.targetIDs, unreadable.isTargetChange)
  }

  @Test("name the targets that they are about")
  func targets() throws {
    #expect(
      try targets {
        $0.documentChange.targetIds = [2, 4, 2]
        $0.documentChange.removedTargetIds = [4, 6, 6]
      } == ([2, 4, 6], false))
    #expect(try targets { $0.documentDelete.removedTargetIds = [2] } == ([2], false))
    #expect(try targets { $0.documentRemove.removedTargetIds = [2] } == ([2], false))
    #expect(
      try targets {
        $0.filter.targetID = 2
        $0.filter.count = -1
      } == ([2], false))
    #expect(
      try targets {
        $0.targetChange.targetIds = [2]
        $0.targetChange.targetChangeType = .UNRECOGNIZED(9)
      } == ([2], true))
  }

  @Test("do not take quadratic time, however many targets they name", .timeLimit(.minutes(1)))
  func manyTargets() throws {
    let count: TargetID = 500_000
    let named = try targets {
      $0.documentChange.targetIds = Array(1...count)
      $0.documentChange.removedTargetIds = Array(count...(2 * count))
    }
    #expect(named.ids.count == 2 * Int(count))
  }

  @Test("are errors when they name no target")
  func withoutTarget() throws {
    for malformed in WatchTranslationTests.malformed {
      var message = Google_Firestore_V1_ListenResponse()
      malformed.change(&message)
      #expect(try wireError { _ = try translator.decodeNamingTargets(message) }.field == malformed.field)
    }
  }

  @Test("leave those alone that can be understood")
  func readable() throws {
    let change = WatchResponse.targetChange(WatchTargetChange(state: .current, targetIDs: [2], resumeToken: [1]))
    #expect(try translator.decodeNamingTargets(translator.encode(change)) == change)
  }
}
