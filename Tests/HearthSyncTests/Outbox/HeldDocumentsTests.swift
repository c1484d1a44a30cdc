import HearthCache
import HearthModel
import Testing

@testable import HearthSync

/// The documents of writes that wait, as the authors of these see them. All are under rules for conflicts.
@Suite("What the author of a write that waits has seen")
struct HeldDocumentsTests {
  /// The file as the authors read it.
  private struct File {
    var isReadable = true
    /// The mutations of its refused writes.
    var refused: [BatchID: [Mutation]] = [:]

    func seen(_ write: LocalWrite, by author: String?) -> LocalStore.SeenWrite {
      var mutations: [Mutation]? = write.mutations
      if let batch = write.resubmits { mutations = isReadable ? refused[batch] ?? [] : nil }
      let keys = mutations?.map(\.key) ?? []
      let document = isReadable ? stored : .unread
      return LocalStore.SeenWrite(
        mutations: mutations, documents: Dictionary(uniqueKeysWithValues: keys.map { ($0, document) }))
    }

    private var stored: SeenDocument { .read(found("rooms/a", 3, ["n": 0]), remoteVersion: version(3), last: .none) }
  }

  private func write(_ number: Int64, resubmits: BatchID? = nil) -> LocalWrite {
    LocalWrite(
      mutations: resubmits == nil ? [patch(number)] : [], localWriteTime: .epoch, identity: identity(number),
      resubmits: resubmits)
  }

  private func patch(_ number: Int64) -> Mutation {
    let name = "field\(number)"
    return .patch(key("rooms/a"), MapValue([name: .integer(number)]), mask: FieldMask([field(name)]))
  }

  private func identity(_ number: Int64) -> BatchIdentity { BatchIdentity(high: 0, low: UInt64(number)) }

  /// The document with the fields of these writes. Its author has seen the last one.
  private func seen(_ numbers: Int64...) -> SeenDocument {
    var document = found("rooms/a", 3, ["n": 0])
    for number in numbers {
      let batch = MutationBatch(batchID: 0, localWriteTime: .epoch, mutations: [patch(number)])
      _ = try? batch.applyToLocalView(&document, mutatedFields: .empty)
    }
    return .read(
      document, remoteVersion: version(3), last: numbers.last.map { .waiting(identity($0)) } ?? .none)
  }

  private func seenByLast(_ held: HeldCalls) -> SeenDocument? { held.writes.last?.write.seen?[key("rooms/a")] }

  @Test("it knows a refused write before it that is submitted again, as it knows others")
  func submittedAgain() {
    let file = File(refused: [7: [patch(2)]])
    var held = HeldCalls()
    held.hold([write(1), write(2, resubmits: 7)], of: nil, seen: file.seen)
    #expect(seenByLast(held) == seen(1))
    held.hold([write(3)], of: nil, seen: file.seen)
    #expect(seenByLast(held) == seen(1, 2))
    // It is handed over with what it writes.
    var next = HeldCalls(takingOver: held.writes)
    next.hold([write(4)], of: nil, seen: File().seen)
    #expect(seenByLast(next) == seen(1, 2, 3))
  }

  @Test("it knows one that could not be read when it was submitted", arguments: [true, false])
  func readAgain(isHandedOver: Bool) {
    var file = File(isReadable: false, refused: [7: [patch(2)]])
    var held = HeldCalls()
    held.hold([write(1), write(2, resubmits: 7)], of: nil, seen: file.seen)
    if isHandedOver { held = HeldCalls(takingOver: held.writes) }
    file.isReadable = true
    held.hold([write(3)], of: nil, seen: file.seen)
    #expect(seenByLast(held) == seen(1, 2))
    // The other user has seen none of them.
    held.hold([write(4)], of: "b", seen: file.seen)
    #expect(seenByLast(held) == seen())
    held.hold([write(5)], of: nil, seen: file.seen)
    #expect(seenByLast(held) == seen(1, 2, 3))
  }

  @Test("one that is gone changes nothing")
  func gone() {
    var held = HeldCalls()
    held.hold([write(1), write(2, resubmits: 7), write(3)], of: nil, seen: File().seen)
    #expect(seenByLast(held) == seen(1))
  }
}
